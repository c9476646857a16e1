"""Start a child that does not outlive us. Call it from the main thread.

Linux sends the parent-death signal when the *thread* that forked ends, not the process.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aigc_site.embedded import EmbeddedError, trampoline


@dataclass(frozen=True)
class Identity:
    """A user and group to run as; -1 keeps our own."""

    uid: int = -1
    gid: int = -1


OURSELVES = Identity()


@dataclass(frozen=True)
class Command:
    """What to run and how. `inherit` are descriptors that the child keeps open."""

    argv: Sequence[str | Path]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    identity: Identity = OURSELVES
    death_signal: signal.Signals = signal.SIGKILL
    inherit: Sequence[int] = field(default=())


def spawn(
    command: Command, *, output: int = subprocess.DEVNULL, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start the command in its own process group, with output and errors to one descriptor.

    Raises EmbeddedError when the program does not exist.
    """
    program = shutil.which(command.argv[0])
    if program is None:
        raise EmbeddedError(f"{command.argv[0]} cannot be run: it is missing or not executable.")
    who = command.identity
    spec = f"{os.getpid()}:{int(command.death_signal)}:{who.uid}:{who.gid}"
    arguments = [str(part) for part in command.argv[1:]]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", trampoline.__file__, spec, str(program), *arguments],
        env=None if command.env is None else dict(command.env),
        cwd=command.cwd,
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT if output != subprocess.DEVNULL else subprocess.DEVNULL,
        pass_fds=tuple(command.inherit),
        process_group=0,
    )
