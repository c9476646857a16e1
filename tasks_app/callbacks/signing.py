"""Standard Webhooks signatures: ``v1,`` HMAC-SHA256 over ``id.timestamp.body``.

One signature per secret, separated by spaces: while a secret is being replaced there are two,
and a receiver accepts a callback if it can verify either.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Return a new secret as receivers get it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signature(of: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``, with these secrets, the current one first."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(f"v1,{_one(secret, signed)}" for secret in of)


def _one(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(of: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers of Standard Webhooks."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(of, message_id, timestamp, body),
    }
