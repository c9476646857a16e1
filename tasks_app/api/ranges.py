"""Byte ranges (RFC 9110, section 14): a player asks for parts of a file and jumps about in it."""

import re
from dataclasses import dataclass
from typing import Final

_SINGLE: Final = re.compile(r"bytes=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes from ``start`` to ``end``, which is included, of ``total``."""

    start: int
    end: int
    total: int

    @property
    def length(self) -> int:
        """How many bytes."""
        return self.end - self.start + 1

    @property
    def header(self) -> str:
        """The value of ``Content-Range``."""
        return f"bytes {self.start}-{self.end}/{self.total}"


class Unsatisfiable(Exception):
    """The range lies outside the file."""


def read(header: str | None, total: int) -> Span | None:
    """Return what a ``Range`` header asks of a file of ``total`` bytes; None: all of it.

    What is malformed, in another unit or in several parts is ignored, as the standard allows.
    Raises ``Unsatisfiable``.
    """
    match = _SINGLE.fullmatch(header or "")
    if not match or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        if not int(last) or not total:
            raise Unsatisfiable
        return Span(max(0, total - int(last)), total - 1, total)
    if last and int(last) < int(first):
        return None
    if int(first) >= total:
        raise Unsatisfiable
    return Span(int(first), min(int(last), total - 1) if last else total - 1, total)
