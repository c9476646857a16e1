"""A bar for long commands: on a terminal only, so that cron's mail and logs stay readable."""

import time
from typing import Final

from django.core.management.base import OutputWrapper

_WIDTH: Final = 30
_EVERY: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class Bar:
    """How much of how many is done, redrawn ten times a second at most. Silent when piped."""

    def __init__(self, out: OutputWrapper, total: int) -> None:
        self._out, self._total, self._done = out, total, 0
        self._begun, self._drawn = time.monotonic(), 0.0
        self._seen = out.isatty()

    def advance(self, number: int) -> None:
        """Say that so many more are done."""
        self._done += number
        if self._seen and time.monotonic() - self._drawn >= _EVERY:
            self._draw()

    def clear(self) -> None:
        """Take the bar away: what follows is written in its place."""
        if self._seen and self._drawn:
            self._out.write(_CLEAR, ending="")
            self._out.flush()

    def line(self) -> str:
        """Return the bar as it is now."""
        total = max(self._total, self._done, 1)
        full = _WIDTH * self._done // total
        rate = self._done / max(time.monotonic() - self._begun, 0.001)
        bar = "#" * full + "." * (_WIDTH - full)
        return f"[{bar}] {self._done:,} of {total:,}, {rate:,.0f}/s"

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self._out.write(_CLEAR + self.line(), ending="")
        self._out.flush()
