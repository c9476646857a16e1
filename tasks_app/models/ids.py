"""Identifiers: UUIDv7 (RFC 9562), so that ids sort by the time they were made."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a new UUIDv7: 48 bits of milliseconds, then random bits."""
    return uuid7()
