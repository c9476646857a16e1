"""One version for all static files, part of their address.

The modules of a page import each other by relative names, so they always belong together: a
page of the new version never mixes with scripts of the old one that a browser still holds. No
build step, no list of hashes: an address that names the version may be kept for ever.
"""

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

_LENGTH: Final = 12
# Packages whose static files the admin and the API's documentation use.
_PACKAGES: Final = ("django", "django-unfold", "drf-spectacular-sidecar")


def version_of(*folders: Path) -> str:
    """Return a short name for what these folders and the packages hold at the moment."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(folder)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    for package in _PACKAGES:
        digest.update(f"{package}=={_installed(package)}\0".encode())
    return digest.hexdigest()[:_LENGTH]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
