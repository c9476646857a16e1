"""Verifying Standard Webhooks (https://www.standardwebhooks.com): signed id, time and body."""

import base64
import binascii
import hashlib
import hmac
import math
from collections.abc import Mapping
from typing import Final

from tasks_app.generators.errors import Forged

TOLERANCE: Final = 300.0
"""Seconds that the time of a webhook may differ from ours."""


def verify(headers: Mapping[str, str], body: bytes, secret: str | None, now: float) -> None:
    """Raise ``Forged`` unless one of the signatures is right and the time is near ``now``."""
    if secret is None:
        raise Forged("no secret to verify it with")
    name, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    try:
        told = float(moment)
    except ValueError:
        raise Forged("no time") from None
    if not math.isfinite(told) or abs(now - told) > TOLERANCE:
        raise Forged("too old, or from the future")
    signed = hmac.new(_key(secret), f"{name}.{moment}.".encode() + body, hashlib.sha256).digest()
    expected = base64.b64encode(signed)
    given = headers.get("webhook-signature", "")[:2_000].split()
    if not any(_same(one, expected) for one in given):
        raise Forged("no right signature")


def _same(given: str, expected: bytes) -> bool:
    version, _, signature = given.partition(",")
    return version == "v1" and hmac.compare_digest(signature.encode(), expected)


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise Forged("the secret is not one of Standard Webhooks") from None
