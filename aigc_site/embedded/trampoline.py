"""Run between fork and exec of a child: `python -I -S trampoline.py SPEC PROGRAM ARGUMENTS...`.

SPEC is "parent:death_signal:uid:gid". A program of its own instead of a preexec_fn: code that
runs in a fork of a process with threads may hang on a lock that nobody will release.

1. Drop to uid and gid (-1 keeps the current ones). First, because the kernel forgets the
   parent-death signal when credentials change.
2. Ask the kernel to send death_signal when the parent dies (Linux; 0 asks for nothing).
3. Leave if the parent died before step 2.
4. Become PROGRAM.

Only the standard library: this also runs as a user who cannot read the project.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(death_signal: int) -> None:
    """Have the kernel signal this process when the thread that forked it ends. Linux only."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")


def drop_to(uid: int, gid: int) -> None:
    """Become uid and gid with no other groups; -1 keeps what is."""
    if gid >= 0:
        os.setgroups([])
        os.setgid(gid)
    if uid >= 0:
        os.setuid(uid)


def main() -> None:
    """See the module docstring. Exit status 127: PROGRAM could not be run."""
    parent, death_signal, uid, gid = (int(part) for part in sys.argv[1].split(":"))
    drop_to(uid, gid)
    if death_signal:
        die_with_parent(death_signal)
    if os.getppid() != parent:
        os._exit(0)
    try:
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - a shell is not wanted
    except OSError as error:
        sys.stderr.write(f"{sys.argv[2]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
