"""`python3 -I installation.py base|dev`: make .venv, install the pinned packages, once.

Run by the Makefile with any Python 3.11 or newer; the standard library is all it needs. Nothing
is installed when .venv has the same requirements already. A .venv that a killed installation
left half-made is thrown away and made again. Two at once wait for each other.

It must also be readable by an older Python, which gets one sentence.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UNFINISHED = VENV / "installing"
OLDEST = (3, 11)


class CannotInstall(Exception):
    """The message is one sentence that says what to do."""


def main(name: str) -> None:
    """Bring .venv to the state of requirements/NAME.txt. Raises CannotInstall."""
    if sys.version_info < OLDEST:
        raise CannotInstall("Python 3.11 or newer is needed: set PYTHON=/path/to/python3.11.")
    if not os.access(str(ROOT), os.W_OK):
        raise CannotInstall(f"{ROOT} cannot be written: clone the project into a folder of yours.")
    with (ROOT / "Makefile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = ROOT / "requirements" / f"{name}.txt"
        stamp = VENV / f"{name}.installed"
        if UNFINISHED.exists() or not _works():
            _make()
        if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
            _install(wanted)
            shutil.copyfile(str(wanted), str(stamp))


def _works() -> bool:
    """Whether .venv has a Python that runs and is new enough."""
    check = f"import sys; sys.exit(sys.version_info < {OLDEST})"
    try:
        return subprocess.run([str(PYTHON), "-I", "-c", check], check=False).returncode == 0
    except OSError:
        return False


def _make() -> None:
    _say(f"making .venv with Python {sys.version.split()[0]}")
    try:
        if VENV.is_symlink() or VENV.is_file():
            VENV.unlink()
        elif VENV.exists():
            shutil.rmtree(str(VENV))
    except OSError as error:
        raise CannotInstall(f"{VENV} cannot be removed: {error.strerror}.") from error
    # Debian's Python may come without ensurepip; then our own pip does the work from outside.
    made = _run([sys.executable, "-m", "venv", str(VENV)], quiet=True)
    if made != 0 and _run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(VENV)]):
        raise CannotInstall(
            "Python has no working venv module: install it (on Debian: apt install python3-venv)."
        )


def _install(wanted: Path) -> None:
    """Pip install, with a mark that stays if it is killed."""
    _say(f"installing {wanted.relative_to(ROOT)} into .venv")
    UNFINISHED.touch()
    arguments = ["install", "--quiet", "--no-input", "--disable-pip-version-check"]
    arguments += ["--require-hashes", "-r", str(wanted)]
    if _run([*_pip(), *arguments]) != 0:
        raise CannotInstall(f"The packages of {wanted.name} could not be installed; see above.")
    UNFINISHED.unlink()


def _pip() -> "list[str]":
    for command in (
        [str(PYTHON), "-m", "pip"],
        [sys.executable, "-m", "pip", "--python", str(PYTHON)],
    ):
        if _run([*command, "--version"], quiet=True) == 0:
            return command
    raise CannotInstall(
        "There is no pip: install it (on Debian: apt install python3-venv python3-pip)."
    )


def _say(line: str) -> None:
    sys.stdout.write(f"darkroom: {line}\n")
    sys.stdout.flush()


def _run(command: "list[str]", quiet: bool = False) -> int:
    output = subprocess.DEVNULL if quiet else None
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
    )
    return done.returncode


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except CannotInstall as problem:
        sys.exit(f"darkroom: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
