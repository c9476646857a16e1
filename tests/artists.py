"""Generators for tests, called by the ``python`` adapter in real workers.

Each call appends lines to the file that ``DARKROOM_TEST_LOG`` names: ``start``, ``step`` and
``stop`` with the system-wide monotonic clock, so that a test sees what really ran, when, as
measured at the generator.
"""

import io
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "title": "Prompt", "minLength": 1, "maxLength": 4000},
        "seconds": {"type": "number", "title": "Seconds", "default": 0.0, "minimum": 0},
        "n": {"type": "integer", "title": "Pictures", "default": 1, "minimum": 1, "maximum": 4},
    },
    "required": ["prompt"],
    "additionalProperties": False,
}
STEP = 0.02
"""Seconds between two reports of progress."""


def picture(size: int = 32) -> bytes:
    """Return a small PNG."""
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), (180, 40, 30)).save(buffer, "PNG")
    return buffer.getvalue()


def sleeper(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Take ``seconds``, reporting at each step; stops when told to."""
    note("start", params["prompt"])
    try:
        begun = time.monotonic()
        while (elapsed := time.monotonic() - begun) < params["seconds"]:
            time.sleep(STEP)
            report(elapsed / params["seconds"])
        note("done", params["prompt"])
        return picture()
    finally:
        note("stop", params["prompt"])


def deaf(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Take ``seconds`` without ever listening."""
    note("start", params["prompt"])
    time.sleep(params["seconds"])
    note("stop", params["prompt"])
    return picture()


def broken(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Fail in an unknown way."""
    note("start", params["prompt"])
    raise ValueError("a secret detail")


def not_a_picture(params: dict[str, Any], report: Callable[[float], None]) -> tuple[bytes, str]:
    """Return bytes that are not what they claim to be."""
    return b"<html>", "image/png"


def leaves(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Model code that tries to end the process."""
    raise SystemExit(3)


def dies(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Model code that takes the worker with it, as a fault in a C library does."""
    note("start", params["prompt"])
    os._exit(9)


def note(what: str, name: str) -> None:
    """Append one line; a single write in append mode is atomic."""
    path = os.environ.get("DARKROOM_TEST_LOG")
    if path:
        with Path(path).open("a") as file:
            file.write(f"{what}\t{time.monotonic()}\t{os.getpid()}\t{name}\n")


@dataclass(frozen=True)
class Line:
    """One line of the log."""

    what: str
    at: float
    pid: int
    name: str


def read(path: Path) -> list[Line]:
    """Return what the generators wrote."""
    if not path.exists():
        return []
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return [Line(what, float(at), int(pid), name) for what, at, pid, name in rows]
