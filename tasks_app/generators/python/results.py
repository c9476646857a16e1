"""Turns whatever an operator's callable returned into outputs."""

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from PIL import Image

from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.signatures import media_type_of
from tasks_app.lifecycle import ErrorCode

_ENCODABLE: Final = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I;16"})
_ACCEPTED: Final = (
    "a PIL image, bytes of a PNG, JPEG, WebP or MP4 file, (bytes, media type), an Output, "
    "a uint8 array of shape (height, width, 3), or a list or iterator of these"
)


def outputs(result: Any) -> Iterator[Output]:
    """Yield the outputs in ``result``, one by one.

    Raises ``GeneratorError`` (``result_unusable``) for anything else than what the contract
    names, and when there is nothing at all.
    """
    number = 0
    for item in _items(result):
        yield _output(item)
        number += 1
    if not number:
        raise _unusable("The callable returned no picture.")


def _items(result: Any) -> Iterable[Any]:
    if result is None:
        raise _unusable(f"The callable returned None; it must return {_ACCEPTED}.")
    if isinstance(result, Output | Image.Image | bytes | bytearray | memoryview | np.ndarray):
        return [result]
    if _is_pair(result):
        return [result]
    if isinstance(result, Iterable) and not isinstance(result, str | dict):
        return result
    raise _unusable(f"The callable returned a {type(result).__name__}; it must be {_ACCEPTED}.")


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], bytes | bytearray | memoryview)
        and isinstance(item[1], str)
    )


def _output(item: Any) -> Output:
    if isinstance(item, Output):
        return Output(_filled(item.content), item.media_type, item.seed)
    if _is_pair(item):
        return Output(_filled(item[0]), item[1])
    if isinstance(item, bytes | bytearray | memoryview):
        content = _filled(item)
        return Output(content, sniff(content))
    if isinstance(item, Image.Image):
        return Output(_png(item), "image/png")
    if isinstance(item, np.ndarray):
        return Output(_png(_from_array(item)), "image/png")
    raise _unusable(f"The callable produced a {type(item).__name__}; it must be {_ACCEPTED}.")


def _filled(content: bytes | bytearray | memoryview) -> bytes:
    if not len(content):
        raise _unusable("The callable returned an empty file.")
    return bytes(content)


def sniff(content: bytes) -> str:
    """Return the media type of PNG, JPEG, WebP or MP4 bytes by their signature.

    Raises ``GeneratorError`` (``result_unusable``) for other bytes.
    """
    found = media_type_of(content)
    if found is not None:
        return found
    raise _unusable("The callable returned bytes that are no PNG, JPEG, WebP or MP4 file.")


def _from_array(array: np.ndarray[Any, Any]) -> Image.Image:
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise _unusable(
            f"The callable returned a {array.dtype} array of shape {array.shape}; "
            "it must be uint8 of shape (height, width, 3)."
        )
    return Image.fromarray(array)


def _png(image: Image.Image) -> bytes:
    target = io.BytesIO()
    try:
        kept = image if image.mode in _ENCODABLE else image.convert("RGB")
        kept.save(target, "PNG")
    except (OSError, ValueError, SystemError) as error:
        raise _unusable(f"The image cannot be written as PNG: {error}") from error
    return target.getvalue()


def _unusable(detail: str) -> GeneratorError:
    return GeneratorError(ErrorCode.RESULT_UNUSABLE, detail)
