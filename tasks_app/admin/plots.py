"""Plots as values: rows with positions in percent that a template writes as SVG. No script.

The words around the graphics are ordinary text, so that they keep their size on any screen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: a name, a part of the whole, and what to say."""

    label: str
    fraction: float
    text: str
    kind: str = ""

    @property
    def percent(self) -> float:
        """The length of the bar; something is always seen of what is not nothing."""
        whole = max(0.0, min(1.0, self.fraction))
        return round(max(1.0, 100 * whole), 1) if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Range:
    """One row from a median to a 95th percentile."""

    label: str
    middle: float
    high: float
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class PlacedRange:
    """A range with its positions."""

    row: Range
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the scale and what it stands for."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges over one logarithmic scale of seconds."""

    rows: tuple[PlacedRange, ...]
    ticks: tuple[Tick, ...]


_TICKS: Final = (
    (0.01, "10 ms"),
    (0.1, "0.1 s"),
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (36_000.0, "10 h"),
)
_MARGIN: Final = 5.0
"""Percent at both ends, where the outermost words of the scale need room."""


def ranges(rows: Sequence[Range]) -> Ranges:
    """Place ranges on a scale that holds them all."""
    highest = max((row.high for row in rows), default=1.0)
    low, high = _TICKS[0][0], max(10.0, highest)

    def x(seconds: float) -> float:
        share = math.log(max(seconds, low) / low) / math.log(high / low)
        return round(_MARGIN + min(1.0, share) * (100 - 2 * _MARGIN), 1)

    placed = tuple(PlacedRange(row, x(row.middle), x(row.high)) for row in rows)
    ticks = tuple(Tick(x(seconds), text) for seconds, text in _TICKS if seconds <= high)
    return Ranges(placed, ticks)
