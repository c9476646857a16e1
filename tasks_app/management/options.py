"""Options that several commands take."""

from argparse import ArgumentParser, ArgumentTypeError


def positive(text: str) -> int:
    """Read a whole number of at least 1. Raises ``ArgumentTypeError``."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r}: a whole number of at least 1 is wanted")
    return number


def seconds(text: str) -> float:
    """Read seconds above 0. Raises ``ArgumentTypeError``."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise ArgumentTypeError(f"{text!r}: seconds above 0 are wanted")
    return number


def add_bounds(parser: ArgumentParser) -> None:
    """Add how far to go, and whether at all."""
    parser.add_argument("--dry-run", action="store_true", help="show, change nothing")
    parser.add_argument("--limit", type=positive, help="end after so many")
    parser.add_argument(
        "--max-seconds", type=seconds, help="begin no batch after so many seconds; default: no end"
    )
