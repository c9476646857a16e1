import os
import secrets
import signal
import time
from pathlib import Path

import pytest

from aigc_site.embedded import EmbeddedError, children
from aigc_site.embedded.children import Program, Stage
from aigc_site.embedded.guard import Guard
from aigc_site.embedded.processes import Manager, StopRequested
from aigc_site.embedded.spawn import Command
from tests.unit.embedded.helpers import alive, eventually, marked, python, run_python

SLEEP = "import time; time.sleep(600)"
DEAF = """
import signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""
# Leaves a grandchild in its group behind when it ends.
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", sys.argv[1]])
print("forked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def mark() -> str:
    """A word among a child's arguments by which it is found again."""
    return f"mark-{secrets.token_hex(8)}"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def manager(tmp_path: Path, said: list[str]) -> Manager:
    return Manager(tmp_path, said.append)


def pid_of(child: children.Child) -> int:
    assert child.process is not None
    return child.process.pid


def test_a_child_that_dies_is_restarted(manager: Manager, mark: str, said: list[str]) -> None:
    with manager:
        child = manager.start(Program("sleeper", lambda: python(SLEEP, mark)))
        first = pid_of(child)
        os.kill(first, signal.SIGKILL)
        assert manager.wait_for(lambda: child.alive and pid_of(child) != first, 20)
    assert not marked(mark)
    assert said == [
        "sleeper ended (killed by SIGKILL); restart in 0.25 s",
        "sleeper restarted",
    ]


def test_restarts_back_off_up_to_a_cap(tmp_path: Path) -> None:
    child = children.Child(Program("x", lambda: python("")), tmp_path)
    child.start()
    eventually(child.reap, "the child ends")
    delays = [child.plan_restart() for _ in range(9)]
    assert delays == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_a_long_life_forgets_earlier_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = children.Child(Program("x", lambda: python("")), tmp_path)
    child.start()
    eventually(child.reap, "the child ends")
    assert [child.plan_restart() for _ in range(2)] == [0.25, 0.5]
    monkeypatch.setattr(children, "HEALTHY_AFTER", -1.0)
    assert child.plan_restart() == 0.25


def test_the_last_words_of_a_failing_child_are_told(
    manager: Manager, said: list[str], tmp_path: Path
) -> None:
    with manager:
        manager.start(Program("broken", lambda: python("raise SystemExit('no luck')")))
        assert manager.wait_for(lambda: len(said) >= 2, 20)
    assert said[:2] == ["broken ended (exit status 1); restart in 0.25 s", "  broken: no luck"]
    assert (tmp_path / "broken.log").read_text().startswith("no luck")
    assert (tmp_path / "broken.log").stat().st_mode & 0o777 == 0o600


def test_what_a_dead_child_leaves_in_its_group_is_killed(manager: Manager, mark: str) -> None:
    with manager:
        child = manager.start(Program("parent", lambda: python(PARENT, mark)))
        log = manager._logs / "parent.log"
        assert manager.wait_for(lambda: "forked" in log.read_text(), 20)
        before = set(marked(mark))
        os.kill(pid_of(child), signal.SIGKILL)
        assert manager.wait_for(lambda: child.alive and before.isdisjoint(marked(mark)), 20)
    assert not marked(mark)


def test_a_program_that_cannot_be_started_is_tried_again(
    manager: Manager, said: list[str], mark: str
) -> None:
    hidden = [True]

    def command() -> Command:
        if len(said) == 1 and hidden.pop():
            raise EmbeddedError("not now")
        return python(SLEEP, mark)

    with manager:
        child = manager.start(Program("shy", command))
        os.kill(pid_of(child), signal.SIGKILL)
        assert manager.wait_for(lambda: "shy restarted" in said, 20)
    assert said[1] == "shy could not be started (not now); again in 0.5 s"


def test_services_stop_before_servers(manager: Manager, tmp_path: Path) -> None:
    tell = """
import signal, sys, time
def end(*_):
    with open(sys.argv[1], "a") as stream:
        stream.write(sys.argv[2] + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
time.sleep(600)
"""
    record = tmp_path / "record"
    with manager:
        for name, stage in (("database", Stage.SERVER), ("web", Stage.SERVICE)):
            command = python(tell, str(record), name)
            manager.start(Program(name, lambda command=command: command, stage))  # type: ignore[misc]
        logs = [tmp_path / f"{name}.log" for name in ("database", "web")]
        assert manager.wait_for(lambda: all("up" in log.read_text() for log in logs), 20)
    assert record.read_text().split() == ["web", "database"]


def test_a_child_that_will_not_stop_is_killed(
    manager: Manager, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aigc_site.embedded.processes.SERVICE_GRACE", 0.2)
    with manager:
        manager.start(Program("deaf", lambda: python(DEAF, mark)))
        log = manager._logs / "deaf.log"
        assert manager.wait_for(lambda: "deaf" in log.read_text(), 20)
    assert not marked(mark)


def test_a_signal_asks_to_stop(manager: Manager, mark: str) -> None:
    with manager:
        manager.start(Program("sleeper", lambda: python(SLEEP, mark)))
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StopRequested):
            manager.run_forever()
    assert not marked(mark)


def test_the_handlers_of_signals_are_put_back(manager: Manager) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGCHLD)]
    with manager:
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGCHLD)] == before


def test_the_caller_may_ask_to_stop(tmp_path: Path) -> None:
    answers = [True, False, False]
    with Manager(tmp_path, print, stop_when=answers.pop) as manager, pytest.raises(StopRequested):
        manager.run_forever()
    assert not answers


def test_a_program_that_runs_once(manager: Manager) -> None:
    with manager:
        manager.run_to_end(Program("good", lambda: python("print(1)"), restart=False), 20)
        with pytest.raises(EmbeddedError, match="bad failed: no luck"):
            bad = python("raise SystemExit('no luck')")
            manager.run_to_end(Program("bad", lambda: bad, restart=False), 20)
        with pytest.raises(EmbeddedError, match="slow took longer"):
            manager.run_to_end(Program("slow", lambda: python(SLEEP), restart=False), 0.1)


def test_a_lock_ends_also_what_left_the_group(manager: Manager, tmp_path: Path, mark: str) -> None:
    """PostgreSQL's backends are in sessions of their own; they still hold its lock."""
    stray = """
import os, time
if os.fork() == 0:
    os.setsid()
    print("strayed", flush=True)
time.sleep(600)
"""
    lock = tmp_path / "lock"

    def command() -> Command:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT)
        return python(stray, mark, inherit=[descriptor])

    with manager:
        manager.start(Program("server", command, Stage.SERVER, lock=lock))
        log = tmp_path / "server.log"
        assert manager.wait_for(lambda: "strayed" in log.read_text(), 20)
        assert len(marked(mark)) == 2
    eventually(lambda: not marked(mark), "the stray ends")


MANAGER = f"""
import sys
from pathlib import Path
from aigc_site.embedded.children import Program
from aigc_site.embedded.processes import Manager
from aigc_site.embedded.guard import Guard
from tests.unit.embedded.helpers import python

with Manager(Path(sys.argv[1]), print) as manager:
    if sys.argv[3] == "guard":
        manager._guard = Guard(needed=True)
    for number in range(3):
        manager.start(Program(f"deaf-{{number}}", lambda: python({DEAF!r}, sys.argv[2])))
    logs = list(Path(sys.argv[1]).glob("*.log"))
    manager.wait_for(lambda: all("deaf" in log.read_text() for log in logs), 20)
    print("ready", flush=True)
    manager.run_forever()
"""


@pytest.mark.parametrize("round_", range(3))
def test_kill_9_of_the_manager_leaves_nothing(tmp_path: Path, mark: str, round_: int) -> None:
    process = run_python(MANAGER, str(tmp_path), mark, "kernel")
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert len([pid for pid in marked(mark) if pid != process.pid]) == 3
        process.kill()
    eventually(lambda: not marked(mark), f"round {round_}: the children end")


def test_the_guard_ends_children_where_the_kernel_does_not(mark: str, tmp_path: Path) -> None:
    code = f"""
import subprocess, sys
from types import SimpleNamespace
from aigc_site.embedded.guard import Guard
guard = Guard(needed=True)
command = [sys.executable, "-I", "-S", "-c", {SLEEP!r}, sys.argv[1]]
for number in range(3):
    process = subprocess.Popen(command, process_group=0)
    child = SimpleNamespace(process=process, program=SimpleNamespace(stop_signal=15))
    guard.remember(child)
guard.forget(child)
process.kill()
print("ready", flush=True)
sys.stdin.read() or __import__("time").sleep(600)
"""
    process = run_python(code, mark)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
    eventually(lambda: not marked(mark), "the children end")


def test_the_guard_leaves_with_its_manager() -> None:
    guard = Guard(needed=True)
    assert guard._process is not None
    pid = guard._process.pid
    guard.close()
    assert not alive(pid)


def test_a_stop_is_within_its_promise_whatever_the_children_do(manager: Manager, mark: str) -> None:
    """15 s is the promise of `up`; nothing here listens to any signal."""
    with manager:
        for name, stage in (("deaf-server", Stage.SERVER), ("deaf-service", Stage.SERVICE)):
            manager.start(Program(name, lambda: python(DEAF, mark), stage))
        logs = [manager._logs / f"{name}.log" for name in ("deaf-server", "deaf-service")]
        assert manager.wait_for(lambda: all("deaf" in log.read_text() for log in logs), 20)
        started = time.monotonic()
    assert time.monotonic() - started < 15
    assert not marked(mark)
