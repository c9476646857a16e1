"""Log lines: their form, what is kept out of them, and that they hold nobody up."""

import io
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tasks_app import logs

ROOT = Path(__file__).resolve().parents[2]
KEY = "dk_0123abcd_Aq3-zT_8sdfghjkl234567890qwertyuiopQWERTY"

Say = Callable[..., list[str]]


class Gate(io.StringIO):
    """A stream that is stuck until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.opened = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        assert self.opened.wait(30)
        return super().write(text)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("tests.logs")
    found.propagate = False
    found.setLevel(logging.DEBUG)
    yield found
    for handler in list(found.handlers):
        if isinstance(handler, logs.Background):
            found.removeHandler(handler)
            logs._handlers.remove(handler)


def attach(logger: logging.Logger, style: str, stream: Any) -> logs.Background:
    handler = logs.Background(style, stream)
    logger.addHandler(handler)
    return handler


def lines(handler: logs.Background, stream: io.StringIO) -> list[dict[str, Any]]:
    handler.flush()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_json_line_has_time_level_logger_message_and_what_it_is_about(
    logger: logging.Logger,
) -> None:
    stream = io.StringIO()
    handler = attach(logger, "json", stream)
    with logs.about(task="t1", attempt=2, request=""):
        logger.info("said %s", "数字", extra={"about": {"to": "running"}})
    logger.warning("after")
    first, second = lines(handler, stream)
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "INFO",
        "logger": "tests.logs",
        "message": "said 数字",
        "task": "t1",
        "attempt": "2",
        "to": "running",
    }
    assert "task" not in second


def test_a_traceback_is_in_its_line(logger: logging.Logger) -> None:
    stream = io.StringIO()
    handler = attach(logger, "json", stream)
    try:
        raise ValueError(f"with {KEY}")
    except ValueError:
        logger.exception("it broke")
    (line,) = lines(handler, stream)
    assert "ValueError: with [hidden]" in line["error"]
    assert "Traceback" in line["error"]


def test_text_keeps_one_line_one_line(logger: logging.Logger) -> None:
    stream = io.StringIO()
    handler = attach(logger, "text", stream)
    with logs.about(task="t1"):
        logger.info("first\n2026-01-01 INFO forged: second")
    handler.flush()
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("first\\n2026-01-01 INFO forged: second task=t1")


def test_what_libraries_attach_is_not_written(logger: logging.Logger) -> None:
    stream = io.StringIO()
    handler = attach(logger, "json", stream)
    logger.info("hello", extra={"request": {"secret": "whole request"}, "status_code": 500})
    assert "whole" not in stream.getvalue()
    assert set(lines(handler, stream)[0]) == {"time", "level", "logger", "message"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"key {KEY} used", "used"),
        (f"Authorization: Bearer {KEY}", "Authorization"),
        (f"{{'Authorization': 'Bearer {KEY}', 'Accept': 'x'}}", "Accept"),
        ("authorization=SECRET1234567, more", "more"),
        ("Basic SECRET1234567== end", "end"),
        ("cannot reach redis://default:SECRET1234567@10.0.0.1:6379/0", "10.0.0.1:6379"),
        ("postgresql://user:SECRET1234567@db/darkroom failed", "user"),
        ("redis://:SECRET1234567@host", "host"),
        ("connect password=SECRET1234567 host=db", "host=db"),
        ('{"password": "SECRET1234567", "user": "alice"}', "alice"),
        ("signed with whsec_SECRET1234567", "signed"),
        ("GET /files/SECRET1234567:abcdef:ghijkl HTTP/1.1", "HTTP/1.1"),
        ("cookie darkroom_session=SECRET1234567; other=1", "other=1"),
        ("POST /hooks?token=SECRET1234567&x=2", "x=2"),
    ],
)
def test_secrets_are_hidden_and_the_rest_is_kept(text: str, kept: str) -> None:
    found = logs.redacted(text)
    assert "SECRET1234567" not in found
    assert KEY not in found and "Aq3-zT" not in found
    assert kept in found
    assert logs.HIDDEN in found


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_a_key_is_found_wherever_it_stands(text: str) -> None:
    assert KEY not in logs.redacted(f"{text} {KEY} {text}")


PIECES = (
    KEY,
    "token=",
    "token",
    "=",
    "Bearer",
    "SECRET1234567",
    "authorization:",
    "https://user:",
    "pass@host",
    "/files/",
    "claimed, pending -> running",
    " ",
    "\0",
    "own-secret",
    "[hidden]",
    "'",
    ";",
)


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map("".join), max_size=5))
def test_parts_of_a_line_are_cleaned_together_as_each_by_itself(parts: list[str]) -> None:
    singly = [logs.redacted(part, ("own-secret",)) for part in parts]
    assert logs.cleaned(parts, ("own-secret",)) == singly


def test_ordinary_lines_are_left_alone() -> None:
    for text in (
        "task 01a2288e-0000-7000-8000-000000000000: claimed, pending -> running",
        "sweep: tokens 3, worker lost 2",
        "http://127.0.0.1:8000/v1/tasks?limit=3",
        "could not renew slots: Timeout connecting to server",
    ):
        assert logs.redacted(text) == text


def test_the_services_own_secrets_are_hidden_in_any_form(
    logger: logging.Logger, settings: Settings
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"metrics_token": "own-metrics-token"}
    stream = io.StringIO()
    handler = attach(logger, "json", stream)
    logger.info("it is %s", settings.SECRET_KEY)
    logger.info("odd:%s:odd", "own-metrics-token", extra={"about": {"x": settings.SECRET_KEY}})
    handler.flush()
    assert settings.SECRET_KEY not in stream.getvalue()
    assert "own-metrics-token" not in stream.getvalue()


def test_private_words_are_hidden_inside_their_block_only(logger: logging.Logger) -> None:
    stream = io.StringIO()
    handler = attach(logger, "json", stream)
    with logs.about("a red boat", task="t1"):
        logger.error("cannot draw 'a red boat'")
    logger.error("a red boat")
    first, second = (line["message"] for line in lines(handler, stream))
    assert first == "cannot draw '[hidden]'"
    assert second == "a red boat"


def test_a_stuck_stream_stops_nobody_and_what_is_dropped_is_counted(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_LONGEST_QUEUE", 10)
    logs.take_dropped()
    gate = Gate()
    handler = attach(logger, "json", gate)
    logger.info("first")
    assert gate.reached.wait(30)
    for number in range(25):
        logger.info("line %d", number)
    assert logs.take_dropped() == 15
    gate.opened.set()
    written = [line["message"] for line in lines(handler, gate)]
    handler.flush()
    assert written[:11] == ["first", *(f"line {number}" for number in range(10))]
    told = lines(handler, gate)[11]
    assert told["message"].startswith("15 lines were dropped")
    assert told["level"] == "WARNING"


PROGRAM = """
import logging, os, sys
from tasks_app import logs
logging.basicConfig(level=logging.INFO, handlers=[logs.Background("json")])
logging.info("parent before")
"""


def run(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [json.loads(line)["message"] for line in done.stderr.splitlines()]


def test_the_last_line_of_a_process_is_written() -> None:
    assert run("logging.info('last')") == ["parent before", "last"]


def test_a_first_line_that_is_said_while_the_process_ends_holds_it_up_in_no_way() -> None:
    program = (
        "import logging; from tasks_app import logs\n"
        "logging.basicConfig(level=logging.INFO, handlers=[logs.Background('json')])\n"
        "class Last:\n"
        "    def __del__(self, say=logging.info): say('too late')\n"
        "last = Last()"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, timeout=30, check=True)


def test_a_forked_child_writes_its_own_lines_and_only_those() -> None:
    found = run(
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    logging.info('child'); logs.flush(); os._exit(0)\n"
        "os.waitpid(pid, 0); logging.info('parent after')"
    )
    assert sorted(found) == ["child", "parent after", "parent before"]


def test_os_exit_after_a_flush_loses_nothing() -> None:
    assert run("logging.info('last'); logs.flush(); os._exit(0)") == ["parent before", "last"]


def test_a_signal_handler_may_log_in_the_middle_of_a_line() -> None:
    found = run(
        "import signal\n"
        "signal.signal(signal.SIGALRM, lambda *_: logging.info('from the handler'))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0005)\n"
        "for n in range(3000): logging.info('line')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)"
    )
    assert found.count("line") == 3000
    assert "from the handler" in found
