"""Generators for tests, called by the ``python`` adapter in real workers.

Each call appends lines to the file that ``DARKROOM_TEST_LOG`` names: ``start``, ``step`` and
``stop`` with the system-wide monotonic clock, so that a test sees what really ran, when, as
measured at the generator.
"""

import asyncio
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def mixed(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Listen, or not: as the prompt says."""
    return (deaf if params["prompt"].startswith("deaf") else sleeper)(params, report)


def deaf_at_first(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Never listen in the first execution of a prompt; be quick in the next one."""
    log = read(Path(os.environ["DARKROOM_TEST_LOG"]))
    known = any(line.name == params["prompt"] for line in log)
    return deaf({**params, "seconds": 0.0} if known else params, report)


def disguise(params: dict[str, Any], report: Callable[[float], None]) -> bytes:
    """Turn whatever happens into an error of its own, as frameworks do."""
    try:
        report(0.5)
        raise ValueError
    except BaseException as error:
        raise RuntimeError("the pipeline failed") from error


def moody(params: dict[str, Any], report: Callable[[float], None]) -> Any:
    """Misbehave in the way that the prompt names."""
    mood = params["prompt"]
    note("start", mood)
    if mood in _RAISED:
        raise _RAISED[mood]
    if mood == "later":
        return _fails_after_the_first()
    return _RETURNED.get(mood, picture())


_RAISED: dict[str, BaseException] = {
    "exit": SystemExit(3),
    "value": ValueError("a secret detail"),
    "memory": MemoryError(),
    "interrupt": KeyboardInterrupt(),
    "cancelled": asyncio.CancelledError(),
}
_RETURNED: dict[str, Any] = {
    "garbage": object(),
    "nothing": None,
    "empty": [],
    "html": (b"<html>", "image/png"),
    "truncated": picture(256)[:100],
}


def _fails_after_the_first() -> Iterator[bytes]:
    yield picture()
    raise RuntimeError("the second picture failed")


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


def starts(path: Path) -> list[Line]:
    """Return the executions that began, in order."""
    return [line for line in read(path) if line.what == "start"]


def unfinished(path: Path, begun_within: float = 1e9) -> list[Line]:
    """Return the executions that have not stopped, of those that began so many seconds ago."""
    running: dict[int, Line] = {}
    for line in read(path):
        if line.what == "start":
            running[line.pid] = line
        elif line.what == "stop":
            running.pop(line.pid, None)
    since = time.monotonic() - begun_within
    return [line for line in running.values() if line.at >= since]


def _changes(lines: Sequence[Line], died: Mapping[int, float]) -> list[tuple[float, int]]:
    """Return when the number of executions changed and by how much; ends before starts.

    ``died`` says when the processes ended that could not write that they stop.
    """
    changes: list[tuple[float, int]] = []
    running: dict[int, float] = {}
    for line in lines:
        if line.what == "start":
            if line.pid in running:
                raise AssertionError(f"process {line.pid} began twice without an end")
            running[line.pid] = line.at
            changes.append((line.at, 1))
        elif line.what == "stop":
            del running[line.pid]
            changes.append((line.at, -1))
    changes += [(died[pid], -1) for pid in running if pid in died]
    return sorted(changes)


def most_at_once(lines: Sequence[Line], died: Mapping[int, float] | None = None) -> int:
    """Return how many executions there were at once, at most."""
    most = now = 0
    for _, change in _changes(lines, died or {}):
        now += change
        most = max(most, now)
    return most


def longest_idle(lines: Sequence[Line], slots: int) -> float:
    """Return for how long a slot stayed free, at most, while there was more to start.

    The first end frees a slot for the start after the first ``slots`` ones, and so on.
    """
    starts = sorted(line.at for line in lines if line.what == "start")
    stops = sorted(line.at for line in lines if line.what == "stop")
    return max(start - stop for start, stop in zip(starts[slots:], stops, strict=False))
