"""Short-lived signed links to stored files.

An artifact's own URL is stable and checks the owner; it then redirects to such a link, which
anybody who holds it may follow until it ends (five minutes by default).
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.core import signing

from tasks_app import conf

_SALT = "darkroom.files"


@dataclass(frozen=True, slots=True)
class Link:
    """What a link opens: one artifact's file or its thumbnail."""

    artifact_id: UUID
    thumbnail: bool
    download: bool


def sign(link: Link) -> str:
    """Return the token of a link."""
    value = [str(link.artifact_id), link.thumbnail, link.download]
    return signing.dumps(value, salt=_SALT)


def read(token: str) -> Link | None:
    """Return what a token opens, or None when it is forged or too old."""
    try:
        value = signing.loads(token, salt=_SALT, max_age=timedelta(seconds=conf.get().link_seconds))
        artifact_id, thumbnail, download = value
        return Link(UUID(str(artifact_id)), bool(thumbnail), bool(download))
    except (signing.BadSignature, ValueError, TypeError):
        return None
