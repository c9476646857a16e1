"""Log lines: as text or as JSON, without secrets, written by a thread of their own.

A line is put into a queue where it is said, with the names of what it is about (``about``), and
formatted and written elsewhere: a slow disk or pipe stops no request and no worker. The queue is
bounded; when it is full, lines are dropped and counted. What is queued when the process ends is
still written, also by ``os._exit`` if ``flush`` is called before.
"""

import atexit
import contextvars
import logging
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, TextIO
from urllib.parse import urlsplit

from django.conf import settings
from pythonjsonlogger.json import JsonFormatter

FORMATS: Final = ("text", "json")
_LONGEST_QUEUE: Final = 10_000
_LAST_WORDS: Final = 2.0
"""Seconds that the end of a process waits for its lines to be written."""
_LONGEST_LINE: Final = 20_000
HIDDEN: Final = "[hidden]"

_about: contextvars.ContextVar[dict[str, Any]] = contextvars.ContextVar("about", default={})  # noqa: B039 - never changed in place
_private: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("private", default=())


@contextmanager
def about(*private: str, **names: Any) -> Iterator[None]:
    """Add names (task, attempt, request) to every line said inside the block, by this thread.

    ``private`` are words of a user that must not appear in these lines, whoever says them.
    """
    known = {name: str(value) for name, value in names.items() if value not in (None, "")}
    named = _about.set({**_about.get(), **known})
    kept = _private.set((*_private.get(), *(word for word in private if len(word) > 3)))
    try:
        yield
    finally:
        _private.reset(kept)
        _about.reset(named)


# --- secrets -------------------------------------------------------------------------------

_RULES: Final = (
    (re.compile(r"\bdk_[0-9a-f]{8}_[\w-]+"), HIDDEN),
    (re.compile(r"\bwhsec_[\w+/=-]+"), HIDDEN),
    (re.compile(r"(?i)(\bbearer\s+|\bbasic\s+|\btoken\s+)[\w.~+/=-]{6,}"), rf"\1{HIDDEN}"),
    (
        re.compile(r"(?i)(['\"]?authorization['\"]?\s*[:=]\s*)(['\"]?)[^'\",;}\s]+"),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"(?i)(['\"]?\b(?:password|passwd|secret|secret_key|api_?key|token|signature|csrf\w*"
            r"|sessionid|darkroom_session)\b['\"]?\s*[=:]\s*)(['\"]?)[^'\",;&}\s]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(/files/)[\w:.~-]{16,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(/webhooks/[^/\s]+/)[\w-]{16,}"), rf"\1{HIDDEN}"),
)


def redacted(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text without keys, passwords and tokens, and without these secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def own_secrets() -> tuple[str, ...]:
    """Return the values that must never be in a line, whatever they look like."""
    if not settings.configured:
        return ()
    found = [
        settings.SECRET_KEY,
        settings.DATABASES["default"].get("PASSWORD", ""),
        settings.DARKROOM.get("metrics_token", ""),
        urlsplit(settings.REDIS_URL).password or "",
    ]
    return tuple(str(secret) for secret in found if len(str(secret)) > 5)


# --- formats -------------------------------------------------------------------------------


class JsonLines(JsonFormatter):
    """One JSON object per line: time, level, logger, message, and what the line is about."""

    def __init__(self) -> None:
        super().__init__(
            "%(levelname)s %(name)s %(message)s",
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "error"},
            json_ensure_ascii=False,
        )

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Put the time first, in UTC."""
        moment = datetime.fromtimestamp(record.created, UTC)
        log_data["time"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        names = record.__dict__.pop("_names", {})
        record.__dict__.pop("_private", None)
        super().add_fields(log_data, record, message_dict)
        log_data.update(names)


class TextLines(logging.Formatter):
    """For eyes: time, level, logger, message; then what the line is about."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Add the names at the end of the line."""
        names = getattr(record, "_names", {})
        line = super().formatMessage(record)
        line += "".join(f" {name}={value}" for name, value in names.items())
        return line.replace("\r", "\\r").replace("\n", "\\n")  # one line stays one line


# --- the way to the file -------------------------------------------------------------------


class Background(logging.Handler):
    """Queues records; a thread of this process writes them to standard error.

    A ``SimpleQueue`` may be put to by a signal handler that interrupts a put. A forked child
    has a queue and a thread of its own, and leaves its parent's lines to the parent.
    """

    def __init__(self, style: str = "text", stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream
        self._lines: logging.Formatter = JsonLines() if style == "json" else TextLines()
        self._begin()
        _handlers.append(self)

    def _begin(self) -> None:
        self._queue: queue.SimpleQueue[logging.LogRecord | threading.Event] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._untold = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record, or drop it if the queue is full. Never waits."""
        try:
            if self._queue.qsize() >= _LONGEST_QUEUE:
                self._drop()
                return
            self._queue.put(self._ready(record))
            self._started()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Wait until what is queued now is written, for two seconds at most."""
        thread = self._thread
        if thread is None or not thread.is_alive() or thread is threading.current_thread():
            return
        written = threading.Event()
        self._queue.put(written)
        written.wait(_LAST_WORDS)

    def _ready(self, record: logging.LogRecord) -> logging.LogRecord:
        """Fix what may change until the line is written: arguments, context, the traceback."""
        text = record.exc_text
        if record.exc_info and not text:
            text = logging.Formatter().formatException(record.exc_info)
        return logging.makeLogRecord(
            {
                "name": record.name,
                "levelno": record.levelno,
                "levelname": record.levelname,
                "created": record.created,
                "msecs": record.msecs,
                "msg": record.getMessage(),
                "exc_text": text,
                # Only names that were given for a line: libraries add whole requests.
                "_names": _about.get() | getattr(record, "about", {}),
                "_private": _private.get(),
            }
        )

    def _drop(self) -> None:
        global _dropped
        with _counting:
            self._untold += 1
            _dropped += 1

    def _started(self) -> None:
        # At the very end of a process no thread runs any more, and who starts one waits for ever.
        if self._thread is None and not sys.is_finalizing():
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._write, name="logs", daemon=True)
                    self._thread.start()

    def _write(self) -> None:
        while True:
            item = self._queue.get()
            try:
                if isinstance(item, logging.LogRecord):
                    self._write_line(item)
                if self._untold and self._queue.empty():
                    self._tell_dropped()
            except Exception:  # noqa: S110 - nobody is left to tell: standard error is gone
                pass
            if isinstance(item, threading.Event):
                item.set()

    def _write_line(self, record: logging.LogRecord) -> None:
        hidden = record.__dict__["_private"] + own_secrets()
        names: dict[str, object] = record.__dict__["_names"]
        said = (record.msg, record.exc_text or "", *names.values())
        record.msg, traceback, *values = cleaned(said, hidden)
        record.exc_text = traceback or None
        record.__dict__["_names"] = dict(zip(names, values, strict=True))
        stream = self._stream or sys.stderr
        stream.write(self._lines.format(record) + "\n")
        stream.flush()

    def _tell_dropped(self) -> None:
        with _counting:
            number, self._untold = self._untold, 0
        said = logging.makeLogRecord(
            {
                "name": __name__,
                "levelno": logging.WARNING,
                "levelname": "WARNING",
                "msg": f"{number} lines were dropped: they came faster than they could be written",
                "created": time.time(),
            }
        )
        self._write_line(self._ready(said))


_APART: Final = " \0 "
"""No rule matches across it: neither blanks nor a secret go on."""


def cleaned(texts: Iterable[object], secrets: tuple[str, ...]) -> list[str]:
    """Return the parts of a line without secrets; most have none, and are looked at together.

    They are cut before: what a line costs is bounded.
    """
    parts = [_cut(str(text)) for text in texts]
    together = _APART.join(parts)
    if redacted(together, secrets) == together:
        return parts
    return [redacted(part, secrets) for part in parts]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"


_handlers: list[Background] = []
_counting = threading.RLock()
_dropped = 0


def current(name: str) -> str:
    """Return what this thread's lines are about, by name; "" if nothing was said."""
    return str(_about.get().get(name, ""))


def take_dropped() -> int:
    """Return how many lines were dropped since this was asked last."""
    global _dropped
    with _counting:
        number, _dropped = _dropped, 0
    return number


def flush() -> None:
    """Write what is queued: before ``os._exit``."""
    for handler in _handlers:
        handler.flush()


def _after_fork() -> None:
    global _counting, _dropped
    _counting, _dropped = threading.RLock(), 0
    for handler in _handlers:
        handler._begin()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(flush)
