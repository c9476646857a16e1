"""Waiting and looking at processes. Nothing here sleeps for a fixed time."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from aigc_site.embedded.spawn import Command

DEADLINE = 20.0  # seconds; far more than anything here takes
ROOT = Path(__file__).resolve().parents[3]


def eventually(condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
    """Return as soon as the condition holds; fail after a deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def python(code: str, *arguments: str, inherit: Sequence[int] = ()) -> Command:
    """A command that runs a piece of Python, found in the process table by its arguments."""
    return Command([sys.executable, "-I", "-S", "-c", code, *arguments], inherit=inherit)


def marked(mark: str) -> list[int]:
    """The pids of living processes with the mark among their arguments."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if mark in (process.info["cmdline"] or []) and alive(process.pid)
    ]


def run_python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    """A separate Python that can import the project."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
