"""A line of what holds now, on a task's page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what it is, what holds, and whether that is why staff should act."""

    label: str
    text: str
    bad: bool = False
