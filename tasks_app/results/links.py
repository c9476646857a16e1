"""Short-lived signed links to stored files.

An artifact's own URL is stable and checks the owner; it then redirects to such a link, which
anybody who holds it may follow until it ends (five minutes by default).

Within half of that time the same file has the same link, so that browsers can cache it.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.core import signing

from tasks_app import conf

_SALT = "darkroom.files"


class _Signer(signing.TimestampSigner):
    """Signs with the time at which the current half of a link's life began."""

    def timestamp(self) -> str:
        step = max(1, int(conf.get().link_seconds / 2))
        return signing.b62_encode(int(time.time()) // step * step)


@dataclass(frozen=True, slots=True)
class Link:
    """What a link opens: one artifact's file or its thumbnail."""

    artifact_id: UUID
    thumbnail: bool
    download: bool


def sign(link: Link) -> str:
    """Return the token of a link."""
    value = [str(link.artifact_id), link.thumbnail, link.download]
    return _Signer(salt=_SALT).sign_object(value)


def read(token: str) -> Link | None:
    """Return what a token opens, or None when it is forged or too old."""
    try:
        lifetime = timedelta(seconds=conf.get().link_seconds)
        value = _Signer(salt=_SALT).unsign_object(token, max_age=lifetime)
        artifact_id, thumbnail, download = value
        return Link(UUID(str(artifact_id)), bool(thumbnail), bool(download))
    except (signing.BadSignature, ValueError, TypeError):
        return None
