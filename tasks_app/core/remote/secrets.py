"""Secrets of upstreams: rows hold references, this reads what they refer to.

Staff who may change a generator choose both where its requests go and which secret goes with
them. So only what the operator has set aside for upstreams can be referred to
(``DARKROOM_UPSTREAM_SECRETS``): never the key of this service or the password of its database.
"""

import fnmatch
import os
from pathlib import Path
from typing import Final

from tasks_app import conf
from tasks_app.generators.errors import Busy
from tasks_app.generators.phrases import Phrase

_MOST_BYTES: Final = 64 * 1024


class NoSecret(Busy):
    """A reference that leads to nothing, or to what is not set aside for upstreams."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, ours=True)


def read(reference: str | None) -> str | None:
    """Return the secret that a reference names; None for no reference. Raises ``NoSecret``.

    Read anew each time, so that a changed file acts at once. The errors name the reference only.
    """
    if reference is None:
        return None
    kind, _, name = reference.partition(":")
    value = _from_environment(name) if kind == "env" else _from_file(Path(name))
    if not value or not value.isprintable() or not value.isascii():
        raise NoSecret(Phrase("%(place)s does not hold one line of text.", place=reference))
    return value


def _from_environment(name: str) -> str:
    place = f"env:{name}"
    if not any(fnmatch.fnmatchcase(name, one) for one in _allowed() if not one.startswith("/")):
        raise NoSecret(Phrase("%(place)s is not among DARKROOM_UPSTREAM_SECRETS.", place=place))
    if name not in os.environ:
        raise NoSecret(Phrase("%(place)s is not set here.", place=place))
    return os.environ[name].strip()


def _from_file(path: Path) -> str:
    place = f"file:{path}"
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise NoSecret(Phrase("%(place)s is not there.", place=place)) from None
    folders = [Path(one) for one in _allowed() if one.startswith("/")]
    if not any(path.is_relative_to(one) and _inside(real, one) for one in folders):
        raise NoSecret(
            Phrase("%(place)s is not below a folder of DARKROOM_UPSTREAM_SECRETS.", place=place)
        )
    try:
        with real.open("rb") as file:
            return file.read(_MOST_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        raise NoSecret(Phrase("%(place)s cannot be read.", place=place)) from None


def _inside(real: Path, folder: Path) -> bool:
    """Whether a file without links is in the folder, which may be a link itself."""
    return real.is_relative_to(folder.resolve())


def _allowed() -> tuple[str, ...]:
    return conf.get().upstream_secrets
