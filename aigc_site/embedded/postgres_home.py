"""Where PostgreSQL's files and programs are, when its user cannot reach ours.

PostgreSQL refuses to run as root. Started by root it runs as another user, who may see neither
DATA nor .venv (a clone in /root, say). Nothing of root's is opened for that user: the files go
to a folder that it can reach, and a copy of the programs beside them.
"""

import os
import secrets
import shutil
from pathlib import Path

from aigc_site.embedded import EmbeddedError, binaries, places
from aigc_site.embedded.spawn import Identity


def known_home(data: Path) -> Path:
    """The folder that PostgreSQL has, or would first try; makes nothing."""
    note = data / "postgres.location"
    return Path(note.read_text().strip()) if note.exists() else data / "postgres"


def choose_home(data: Path) -> tuple[Path, str | None]:
    """The folder for PostgreSQL below DATA, or elsewhere with a sentence that says where.

    DATA keeps a note of a place elsewhere, so that the files stay found when DATA is moved.
    Raises EmbeddedError when there is no place, or not ours.
    """
    note, below = data / "postgres.location", data / "postgres"
    home = known_home(data)
    identity = places.server_identity(home)
    if home == below and not below.exists() and not places.may(identity, "-x", data):
        home = _outside(data, identity)
        places.write_private(note, f"{home}\n")
    places.private_folder(home, identity)
    if home != below:
        places.write_private(home / "belongs-to", f"{data}\n")
    if not places.may(identity, "-w", home):
        raise EmbeddedError(
            f"The user who runs PostgreSQL (uid {identity.uid}) cannot write to {home}: "
            "open its parent folders or choose other DATA."
        )
    if home == below:
        return home, None
    return home, f"PostgreSQL's files are in {home}, because its user cannot reach {data}."


def _outside(data: Path, identity: Identity) -> Path:
    """A new folder where only root, or at worst everybody with a sticky bit, writes."""
    for parent in (Path("/var/lib"), Path("/var/tmp")):  # noqa: S108 - the name is random
        if os.access(parent, os.W_OK) and places.may(identity, "-x", parent):
            # Not named after DATA: when DATA is removed or moved, and a new one made in its
            # place, that must neither find nor touch the files of the old one.
            return parent / f"darkroom-{secrets.token_hex(6)}"
    raise EmbeddedError(f"PostgreSQL's user cannot reach {data}: choose other DATA.")


def reachable_install(home: Path, identity: Identity) -> Path:
    """The wheel's installation, or a copy of it in home when the identity cannot run that."""
    install = binaries.postgres_install()
    if places.may(identity, "-x", install / "bin" / "postgres"):
        return install
    package = install.parent
    stamp = (install / "bin" / "postgres").stat().st_mtime_ns
    copy = home / f"programs-{install.name}-{stamp}"
    if not copy.exists():
        for old in home.glob("programs-*"):
            shutil.rmtree(old, ignore_errors=True)
        draft = home / "programs-draft"
        shutil.copytree(install, draft / package.name / install.name, symlinks=True)
        # The programs look for bundled libraries in a folder beside their package.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            os.chown(path, identity.uid, identity.gid, follow_symlinks=False)
        draft.rename(copy)
    return copy / package.name / install.name
