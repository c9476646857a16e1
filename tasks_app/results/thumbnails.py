"""Thumbnails: small WebP pictures that pages can show many of."""

import io
from typing import Final

from PIL import Image

LONG_SIDE: Final = 480
"""Pixels of the longer side: sharp at 240 CSS pixels on a double-density screen."""


def thumbnail(picture: Image.Image) -> bytes:
    """Return a WebP whose longer side is at most ``LONG_SIDE`` pixels, without metadata."""
    alpha = "A" in picture.getbands() or "transparency" in picture.info
    small = picture.convert("RGBA" if alpha else "RGB")
    small.thumbnail((LONG_SIDE, LONG_SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=80, method=4)
    return buffer.getvalue()
