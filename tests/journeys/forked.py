"""Commands in a hurry: a process that has imported everything once becomes each `stairs` command by forking, instead of importing again.

It reads lines of JSON, {"arguments", "folder", "output"}, and answers each with the exit code of the command.
"""

import json
import os
import signal
import sys
from importlib import import_module

HEAVY = (
    "stairs.comparison.runner",
    "stairs.commands.train",
    "stairs.inspection.layers",
    "stairs.formats.arpa",
    "stairs.text.embedded.python_prose",
    "sklearn.linear_model",
    "torch._dynamo",  # which the first optimizer imports
    "altair",
)
PATIENCE = 300  # seconds, after which a command is killed


def become(arguments: list[str], folder: str, output: str) -> None:
    """This process is the command from here on."""
    os.chdir(folder)
    signal.alarm(PATIENCE)
    for stream in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    import stairs.cli

    code = stairs.cli.main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve() -> None:
    for name in HEAVY:
        import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
