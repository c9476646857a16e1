"""Turns the stages of a picture into fractions of the whole task."""

from collections.abc import Callable
from typing import Final

_TICK: Final = 0.2
"""Share of what is left of a stage that one tick moves on: ticks never overrun a stage."""


class Progress:
    """Reports one picture's progress as the part of the task that it is.

    ``start`` and ``span`` place the picture inside the task (``0.0`` to ``1.0``). Fractions
    never fall. Whatever ``report`` raises flies through.
    """

    def __init__(
        self, report: Callable[[float], None], start: float = 0.0, span: float = 1.0
    ) -> None:
        self._report = report
        self._start = start
        self._span = span
        self._done = 0.0
        self._goal = 0.0

    def stage(self, goal: float) -> None:
        """End the stage before and begin one that ends at ``goal`` (0 to 1 of the picture)."""
        self._done = max(self._done, self._goal)
        self._goal = max(self._done, min(goal, 1.0))
        self._tell()

    def tick(self) -> None:
        """Say that a part of the present stage is done."""
        self._done += (self._goal - self._done) * _TICK
        self._tell()

    def finish(self) -> None:
        """Say that the picture is complete."""
        self._done = self._goal = 1.0
        self._tell()

    def _tell(self) -> None:
        self._report(min(1.0, self._start + self._span * self._done))
