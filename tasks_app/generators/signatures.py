"""What files are by their first bytes, whatever somebody calls them."""

from typing import Final

_STILLS: Final = frozenset({b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1"})
"""Brands of pictures in the same kind of container as MP4."""


def media_type_of(content: bytes) -> str | None:
    """Return the media type of PNG, JPEG, WebP or MP4 bytes; None for others."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:8] == b"ftyp" and content[8:12] not in _STILLS:
        return "video/mp4"
    return None
