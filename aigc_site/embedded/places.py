"""Folders and small files of the embedded servers: who may reach them, whose they are."""

import contextlib
import hashlib
import os
import pwd
import secrets
import shutil
import stat
import subprocess
from pathlib import Path

from aigc_site.embedded import EmbeddedError
from aigc_site.embedded.spawn import OURSELVES, Identity

# The address of a Unix socket holds 104 bytes on macOS and 108 on Linux, one of them a NUL.
SOCKET_PATH_BYTES = 100


def server_identity(home: Path) -> Identity:
    """Who runs a server that refuses to run as root: ourselves, unless we are root.

    As root it is the owner of an existing home, else the user nobody.
    Raises EmbeddedError when there is no such user.
    """
    if os.geteuid() != 0:
        return OURSELVES
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        owner = home.stat().st_uid
        if owner != 0:
            return Identity(owner, home.stat().st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedError(
            "PostgreSQL does not run as root and there is no user nobody: "
            "run as an ordinary user or set DATABASE_URL."
        ) from None
    return Identity(nobody.pw_uid, nobody.pw_gid)


def may(identity: Identity, flag: str, path: Path) -> bool:
    """Whether the identity passes test(1) on the path: -x to enter or run, -w to write."""
    program = shutil.which("test") or "/bin/test"
    who: dict[str, int | list[int]] = {}
    if identity.uid >= 0:
        who = {"user": identity.uid, "group": identity.gid, "extra_groups": []}
    done = subprocess.run([program, flag, str(path)], cwd="/", check=False, **who)  # type: ignore[call-overload]
    return bool(done.returncode == 0)


def private_folder(path: Path, identity: Identity = OURSELVES) -> Path:
    """Create the folder with mode 700 for the identity, or check that it is exactly that.

    Raises EmbeddedError when somebody else's folder, or a link, is in the place.
    """
    owner = os.geteuid() if identity.uid < 0 else identity.uid
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise EmbeddedError(f"{path} cannot be created: {error.strerror}.") from error
    else:
        if identity.uid >= 0:
            os.chown(path, identity.uid, identity.gid, follow_symlinks=False)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise EmbeddedError(
            f"{path} belongs to somebody else (uid {found.st_uid}): remove it or choose other DATA."
        )
    if found.st_uid != owner:
        os.chown(path, identity.uid, identity.gid, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    return path


def socket_folder(home: Path, name: str, identity: Identity = OURSELVES) -> Path:
    """The private folder of a server's socket `name`: below home when that is short enough."""
    folder = home / "socket"
    if len(os.fsencode(folder / name)) > SOCKET_PATH_BYTES:
        folder = _short_parent(identity) / f"darkroom-{fingerprint(home)}"
    return private_folder(folder, identity)


def _short_parent(identity: Identity) -> Path:
    """A folder with a short path for sockets: the user's own runtime folder, else /tmp."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    short = len(os.fsencode(runtime)) < SOCKET_PATH_BYTES // 2
    if identity == OURSELVES and short and runtime.is_dir() and os.access(runtime, os.W_OK):
        return runtime
    return Path("/tmp")  # noqa: S108 - private_folder refuses what another user put there


def fingerprint(path: Path) -> str:
    """Twelve hex digits that stand for an absolute path."""
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]


def write_private(path: Path, content: str, identity: Identity = OURSELVES) -> None:
    """Replace the file as a whole; mode 600 from its first moment."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(content)
            if identity.uid >= 0:
                os.fchown(stream.fileno(), identity.uid, identity.gid)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def kept_secret(path: Path) -> str:
    """The random secret in the file; made on the first call (43 characters, URL-safe)."""
    with contextlib.suppress(FileNotFoundError):
        found = path.read_text().strip()
        if found:
            return found
    fresh = secrets.token_urlsafe(32)
    write_private(path, fresh + "\n")
    return fresh
