"""What a check found, in words."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    UNKNOWN = "unknown"
    """Not looked at, as something else must be repaired first."""


EXIT = {Level.OK: 0, Level.UNKNOWN: 0, Level.WARNING: 1, Level.PROBLEM: 2}
"""The exit status that a finding asks for; the highest counts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of what is, and one of what to do about it."""

    level: Level
    text: str
    cure: str = ""


def ok(text: str) -> Finding:
    """Return that all is well."""
    return Finding(Level.OK, text)


def warning(text: str, cure: str) -> Finding:
    """Return that it works, but not safely or not for long."""
    return Finding(Level.WARNING, text, cure)


def problem(text: str, cure: str) -> Finding:
    """Return that it does not work."""
    return Finding(Level.PROBLEM, text, cure)


def one_line(error: object, limit: int = 300) -> str:
    """Return an error's words on one line."""
    return " ".join(str(error).split())[:limit] or type(error).__name__
