"""Storing what a generator made: checked, measured, hashed, with a thumbnail.

Files go to the ``results`` storage of Django's ``STORAGES``; their keys hold task and attempt,
so that two attempts of one task can never overwrite each other.
"""

import hashlib
import io
import logging
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.utils import timezone
from PIL import Image, UnidentifiedImageError

from tasks_app import conf
from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Artifact, new_id
from tasks_app.results.thumbnails import thumbnail

logger = logging.getLogger(__name__)

FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
EXTENSIONS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
MAX_PIXELS: Final = 64_000_000
"""Above this an encoded image is refused unread: it may be a decompression bomb."""


def storage() -> Storage:
    """Return the storage of results."""
    return storages["results"]


def save(task_id: UUID, attempt: int, position: int, output: Output) -> Artifact:
    """Check and store one output; returns its artifact, not yet saved to the table.

    Raises ``GeneratorError``: ``result_unusable`` for what is not what it claims to be,
    ``internal`` (retryable) when the storage refuses.
    """
    picture = _opened(output)
    folder = f"{task_id.hex[:6]}/{task_id}"
    extension = EXTENSIONS[output.media_type]
    small = thumbnail(picture)
    try:
        key = storage().save(f"{folder}/{attempt}-{position}.{extension}", _file(output.content))
        small_key = storage().save(f"{folder}/{attempt}-{position}-small.webp", _file(small))
    except OSError as error:
        logger.error("task %s: the storage refused a result: %s", task_id, error)
        raise GeneratorError(
            ErrorCode.INTERNAL, "The result could not be stored.", retryable=True
        ) from error
    return Artifact(
        id=new_id(),
        task_id=task_id,
        position=position,
        storage_key=key,
        thumbnail_key=small_key,
        media_type=output.media_type,
        width=picture.width,
        height=picture.height,
        bytes=len(output.content),
        sha256=hashlib.sha256(output.content).hexdigest(),
        seed=output.seed,
        created_at=timezone.now(),
    )


def discard(artifacts: Iterable[Artifact]) -> None:
    """Delete files that no row will name (or whose row says removed); errors are logged."""
    for artifact in artifacts:
        for key in (artifact.storage_key, artifact.thumbnail_key):
            try:
                storage().delete(key)
            except OSError as error:
                logger.warning("could not delete %s: %s", key, error)


def _opened(output: Output) -> Image.Image:
    """Return the decoded picture, or raise ``GeneratorError``."""
    expected = FORMATS.get(output.media_type)
    if expected is None:
        raise _unusable(f"{output.media_type} is not a type that can be stored.")
    if not 0 < len(output.content) <= conf.get().max_artifact_bytes:
        raise _unusable("The file is empty or too large.")
    try:
        picture = Image.open(io.BytesIO(output.content), formats=[expected])
        if picture.width * picture.height > MAX_PIXELS:
            raise _unusable("The picture has too many pixels.")
        picture.load()
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError) as error:
        raise _unusable(f"The file is not a readable {expected} picture.") from error
    return picture


def _unusable(detail: str) -> GeneratorError:
    return GeneratorError(ErrorCode.RESULT_UNUSABLE, detail)


def _file(content: bytes) -> ContentFile[bytes]:
    return ContentFile(content)
