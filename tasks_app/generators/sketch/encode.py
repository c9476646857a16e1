"""From painted float pixels to the bytes of a PNG or WebP file, the same ones every time."""

import io
from typing import Final

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tasks_app.generators.sketch.arrays import Array

MEDIA_TYPES: Final[dict[str, str]] = {"png": "image/png", "webp": "image/webp"}


def to_image(pixels: Array, size: tuple[int, int]) -> Image.Image:
    """Return sRGB floats (h, w, 3; 0..1, rest clipped) as an 8-bit image of ``size`` (w, h)."""
    levels = (np.clip(pixels, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
    image = Image.fromarray(levels)
    return image if image.size == size else image.resize(size, Image.Resampling.LANCZOS)


def encode(image: Image.Image, file_format: str, seed: int) -> bytes:
    """Return the file's bytes; ``file_format`` is a key of ``MEDIA_TYPES``.

    A PNG says in a text chunk who made it and from which seed. No time, host or version is
    written, so equal pictures are equal files.
    """
    target = io.BytesIO()
    if file_format == "webp":
        image.save(target, "WEBP", quality=90, method=2)
    else:
        notes = PngInfo()
        notes.add_text("Software", "Darkroom sketch")
        notes.add_text("Comment", f"seed {seed}")
        image.save(target, "PNG", compress_level=3, pnginfo=notes)
    return target.getvalue()
