"""The log files of children: one per name, appended to, kept below a size."""

import os
import re
import shutil
from pathlib import Path

LARGEST = 20 * 1024 * 1024  # bytes; a file that grew beyond is moved to NAME.log.1
_TAIL = 2_000  # bytes looked at for the last lines
_CLASS = re.compile(r"[A-Za-z_][\w.]*(Error|Exception): ")


def open_log(folder: Path, name: str) -> int:
    """A descriptor that appends to the log. A file, not a pipe: writing to it never blocks."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(folder / f"{name}.log", flags, 0o600)


def keep_small(folder: Path, largest: int = LARGEST) -> None:
    """Copy what grew too large to NAME.log.1 and empty it; its writers go on appending."""
    for log in folder.glob("*.log"):
        if log.stat().st_size > largest:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)


def last_lines(folder: Path, name: str, count: int) -> list[str]:
    """The last lines of a log, without empty ones."""
    try:
        with (folder / f"{name}.log").open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _TAIL))
            text = stream.read(_TAIL).decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def last_words(folder: Path, name: str) -> str:
    """What a program said last, in a line: of a traceback the error alone, without its class."""
    lines = last_lines(folder, name, 40)
    for number in reversed(range(1, len(lines))):
        # Code is indented; what follows it is the error, which may have several lines.
        if lines[number - 1].startswith("    ") and _CLASS.match(lines[number]):
            first, *others = lines[number : number + 3]
            return " | ".join([_CLASS.sub("", first), *map(str.strip, others)])
    return " | ".join(lines[-3:])
