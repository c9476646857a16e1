"""Storing what a generator made: checked, measured, hashed, with a thumbnail.

Files go to the ``results`` storage of Django's ``STORAGES``; their keys hold task and attempt,
so that two attempts of one task can never overwrite each other.
"""

import hashlib
import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.utils import timezone

from tasks_app import conf
from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Artifact, new_id
from tasks_app.results import pictures, video
from tasks_app.results.checked import Checked, unusable
from tasks_app.results.thumbnails import thumbnail

logger = logging.getLogger(__name__)

EXTENSIONS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    video.MEDIA_TYPE: "mp4",
}


_PROBE: Final = bytes(1024 * 1024)
"""About what a picture takes: a full disk may still have room for a few bytes."""


class StorageRefused(GeneratorError):
    """The storage took no file; the same may be stored later."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.INTERNAL, "The result could not be stored.", retryable=True)


def storage() -> Storage:
    """Return the storage of results."""
    return storages["results"]


def save(task_id: UUID, attempt: int, position: int, output: Output) -> Artifact:
    """Check and store one output; returns its artifact, not yet saved to the table.

    Raises ``GeneratorError`` (``result_unusable``) for what is not what it claims to be, and
    ``StorageRefused``. Nothing is left behind then, so that it may be tried again.
    """
    checked = _checked(output)
    folder = _folder(task_id)
    name = f"{folder}/{attempt}-{position}"
    small = thumbnail(checked.poster)
    key = _stored(f"{name}.{EXTENSIONS[output.media_type]}", output.content)
    try:
        small_key = _stored(f"{name}-small.webp", small)
    except GeneratorError:
        _deleted(key, task_id)
        raise
    return Artifact(
        id=new_id(),
        task_id=task_id,
        position=position,
        storage_key=key,
        thumbnail_key=small_key,
        media_type=output.media_type,
        width=checked.width,
        height=checked.height,
        duration_seconds=checked.seconds,
        bytes=len(output.content),
        sha256=hashlib.sha256(output.content).hexdigest(),
        seed=output.seed,
        created_at=timezone.now(),
    )


def discard(artifacts: Iterable[Artifact]) -> bool:
    """Delete files that no row will name (or whose row says removed).

    Returns whether all of them are gone; errors are logged. Never raises for what the storage
    says: storages of other hosts have errors of their own.
    """
    gone = True
    for one in artifacts:
        for key in (one.storage_key, one.thumbnail_key):
            gone = _deleted(key, one.task_id) and gone
    return gone


def probe() -> None:
    """See whether a file of the size of a picture is taken. Raises ``StorageRefused``."""
    name = _stored(f"probe/{uuid4().hex}", _PROBE)
    with suppress(Exception):
        storage().delete(name)


def tidy(task_ids: Iterable[UUID]) -> None:
    """Remove the folders of tasks whose files are gone, where the storage has folders.

    What is not empty stays. The folder around them is that of 4.7 hours, the first 24 bits of a
    UUIDv7: it stays for a day, so that it is not taken away under a file that is being stored.
    """
    place = storage()
    if not isinstance(place, FileSystemStorage):
        return
    lately = int((time.time() - 86_400) * 1000) >> 24
    for task_id in set(task_ids):
        folder = Path(place.path(_folder(task_id)))
        try:
            folder.rmdir()
            if task_id.int >> 104 < lately:
                folder.parent.rmdir()
        except OSError:
            pass  # not empty, or gone


def _folder(task_id: UUID) -> str:
    return f"{task_id.hex[:6]}/{task_id}"


def _stored(name: str, content: bytes) -> str:
    try:
        name = storage().get_available_name(name)  # another's copy may lie there, and stays
        return storage().save(name, ContentFile(content))
    except Exception as error:  # storages of other hosts have errors of their own
        logger.error("the storage refused %s: %s", name, error)
        with suppress(Exception):
            storage().delete(name)  # what a full disk took of it
        raise StorageRefused from error


def _deleted(key: str, task_id: UUID) -> bool:
    try:
        storage().delete(key)
    except Exception as error:
        logger.warning(
            "task %s: could not delete %s: %s",
            task_id,
            key,
            error,
            extra={"about": {"task": str(task_id)}},
        )
        return False
    return True


def _checked(output: Output) -> Checked:
    """Return what the file is, or raise ``GeneratorError``."""
    if output.media_type not in EXTENSIONS:
        raise unusable(f"{output.media_type} is not a type that can be stored.")
    if output.seed is not None and not _is_seed(output.seed):
        raise unusable("The seed is not a whole number of 64 bits.")
    if not 0 < len(output.content) <= conf.get().max_artifact_bytes:
        raise unusable("The file is empty or too large.")
    if output.media_type == video.MEDIA_TYPE:
        return video.check(output.content)
    return pictures.check(output.content, output.media_type)


def _is_seed(seed: object) -> bool:
    return type(seed) is int and -(2**63) <= seed < 2**63
