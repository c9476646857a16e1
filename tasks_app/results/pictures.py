"""Pictures: what makes a PNG, JPEG or WebP file good enough to keep."""

import io
from typing import Final

from PIL import Image, UnidentifiedImageError

from tasks_app.results.checked import Checked, unusable

FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
MAX_PIXELS: Final = 64_000_000
"""Above this an encoded image is refused unread: it may be a decompression bomb."""


def check(content: bytes, media_type: str) -> Checked:
    """Decode and measure a picture. Raises ``GeneratorError`` (``result_unusable``)."""
    expected = FORMATS[media_type]
    try:
        picture = Image.open(io.BytesIO(content), formats=[expected])
        if picture.width * picture.height > MAX_PIXELS:
            raise unusable("The picture has too many pixels.")
        picture.load()
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError) as error:
        raise unusable(f"The file is not a readable {expected} picture.") from error
    return Checked(picture.width, picture.height, picture)
