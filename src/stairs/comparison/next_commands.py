"""What one does after a climb, as commands that can be pasted into a shell: ask the recommended model, predict a file, open the explorer."""

import shlex

from stairs.comparison.schema import Report

QUESTIONS = {
    "compare": ("a new text", "--second", "another"),
    "span": ("a question", "--second", "a passage"),
    "choose": ("a context", "--choices", "one answer", "another"),
}
TABLE_KINDS = ("classify", "compare", "multilabel", "regress")  # whose new texts lie in tables; others are lines


def next_commands(report: Report, folder: str) -> list[str]:
    """The folder of a climb is a run, whose recommended model answers; without one there is nothing to ask."""
    commands = []
    if report["recommendation"] is not None:
        kind = report["settings"]["task"]
        commands.append(["stairs", "ask", folder, *QUESTIONS.get(kind, ("a new text",))])
        if kind in TABLE_KINDS:
            commands.append(["stairs", "ask", folder, "--file", "new.csv", "--out", "predictions.csv"])
    return [join(command) for command in [*commands, ["stairs", "open", folder]]]


def join(command: list[str]) -> str:
    """As `shlex.join`, but with double quotes around plain words, which every shell takes."""
    return " ".join(f'"{word}"' if " " in word and word.replace(" ", "").isalnum() else shlex.quote(word) for word in command)
