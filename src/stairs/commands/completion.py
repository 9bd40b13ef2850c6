"""Completion scripts for the shells: commands first, then files."""

from stairs.errors import BadInput

SCRIPTS = {
    "bash": """_stairs() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{commands}" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _stairs stairs
""",
    "zsh": """_stairs() {{ if (( CURRENT == 2 )); then compadd {commands}; else _files; fi }}
compdef _stairs stairs
""",
    "fish": """complete -c stairs -n __fish_use_subcommand -f -a "{commands}"
""",
}


def script(shell: str, commands: list[str]) -> str:
    if shell not in SCRIPTS:
        raise BadInput(f"there is no completion for {shell or 'no shell'}; there is for {', '.join(SCRIPTS)}")
    return SCRIPTS[shell].format(commands=" ".join(commands))
