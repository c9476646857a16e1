"""Results: a folder that exists, takes files, has room, and is the same on every host."""

import os
import shutil
from pathlib import Path
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from tasks_app.maintenance.doctor.finding import Finding, ok, one_line, problem, warning
from tasks_app.models import Artifact
from tasks_app.results import store

_GIB: Final = 1024**3
_LITTLE: Final = 5 * _GIB
_TOO_LITTLE: Final = _GIB // 2
"""Bytes free: a warning below the first, a problem below the second."""


def writable() -> Finding:
    """Write, and remove, a file where results go."""
    folder = _folder()
    if folder is None:
        return _storage_writable()
    if not folder.exists():
        return _absent(folder)
    probe = folder / f".doctor-{os.getpid()}"
    try:
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return problem(
            f"Results cannot be written to {folder}: {error.strerror}.",
            "Give the folder to the user of the service (chown), or correct DARKROOM_DATA.",
        )
    return ok(f"Results can be written to {folder}.")


def _absent(folder: Path) -> Finding:
    there = next(parent for parent in folder.parents if parent.exists())
    if there.is_dir() and os.access(there, os.W_OK):
        return warning(
            f"The folder of results, {folder}, does not exist yet.",
            "Create it, or mount it; otherwise the first result makes it, with its own rights.",
        )
    return problem(
        f"The folder of results, {folder}, does not exist and cannot be made.",
        "Create or mount it, give it to the user of the service, or correct DARKROOM_DATA.",
    )


def _storage_writable() -> Finding:
    storage = store.storage()
    try:
        storage.delete(storage.save(f"doctor/{os.getpid()}", ContentFile(b"doctor")))
    except Exception as error:  # whatever a storage of the operator's choice raises
        return problem(
            f"The storage of results refuses writes: {one_line(error)}",
            "Correct its settings and its credentials.",
        )
    return ok("The storage of results takes files.")


def room() -> Finding:
    """Look at the free space where results go."""
    folder = _folder()
    if folder is None:
        return ok("Results are not on this host's disk.")
    place = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(place).free
    sentence = f"{free / _GIB:.1f} GiB are free for results in {place}."
    cure = "Free or add disk space, or lower DARKROOM_RESULT_DAYS."
    if free < _TOO_LITTLE:
        return problem(sentence, cure)
    return warning(sentence, cure) if free < _LITTLE else ok(sentence)


def shared() -> Finding:
    """Look for the file of the newest result, which another host may have written."""
    newest = Artifact.objects.filter(removed_at__isnull=True).order_by("-task_id").first()
    if newest is None:
        return ok("There is no result yet.")
    if store.storage().exists(newest.storage_key):
        return ok("The newest result is there.")
    return problem(
        f"The file of the newest result, {newest.storage_key}, is not there.",
        "Mount the folder that all hosts share, or restore the files of the backup.",
    )


def _folder() -> Path | None:
    storage = store.storage()
    return Path(storage.location) if isinstance(storage, FileSystemStorage) else None
