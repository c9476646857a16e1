"""Secrets of accounts: made, replaced, and kept sealed.

To sign, the secret itself is needed, so a digest will not do. It is kept encrypted (Fernet) with
a key derived from ``DARKROOM_SECRET_KEY``: whoever reads the table or a backup alone can sign
nothing. While that key is being changed, what the old one sealed is opened with it, and ``reseal``
seals it anew.
"""

import base64
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from tasks_app.callbacks import signing
from tasks_app.models import CallbackSecret

logger = logging.getLogger(__name__)

OVERLAP: Final = timedelta(hours=24)
"""How long a replaced secret goes on signing beside its successor."""

_MOST: Final = 4
"""Secrets of an account that sign at the same time, however often they are replaced."""
_BATCH: Final = 500


def signers(owner_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return the secrets that sign now for each of the owners, the current one first.

    An owner without any gets one: a callback is never sent unsigned.
    """
    wanted = set(owner_ids)
    found: dict[int, list[str]] = {owner_id: [] for owner_id in wanted}
    rows = CallbackSecret.objects.filter(owner_id__in=wanted).exclude(retires_at__lte=Now())
    for row in rows.order_by("-created_at"):
        text = _opened(row)
        if text is not None:
            found[row.owner_id].append(text)
    for owner_id, own in found.items():
        if not own:
            own.append(_first(owner_id))
    return found


def replace(owner_id: int) -> str:
    """Make a new secret and return it: it is shown this once. The one before signs on for a day."""
    text = signing.new_secret()
    with transaction.atomic():
        own = CallbackSecret.objects.select_for_update().filter(owner_id=owner_id)
        kept = [row.pk for row in own.order_by("-created_at")]
        own.filter(Q(retires_at__lte=Now()) | Q(pk__in=kept[_MOST - 1 :])).delete()
        CallbackSecret.objects.filter(owner_id=owner_id, retires_at__isnull=True).update(
            retires_at=Now() + OVERLAP
        )
        _keep(owner_id, text)
    return text


def current(owner_id: int) -> CallbackSecret | None:
    """Return the row of the current secret, to say since when there is one."""
    return CallbackSecret.objects.filter(owner_id=owner_id, retires_at__isnull=True).first()


def old_seals() -> int:
    """Count what is not sealed with today's key."""
    return CallbackSecret.objects.exclude(key_print=_key_print()).count()


def reseal() -> int:
    """Seal with today's key what is sealed with the one before; returns how many."""
    old = CallbackSecret.objects.exclude(key_print=_key_print())
    done = 0
    for row in old[:_BATCH]:
        text = _opened(row)
        if text is not None:
            done += CallbackSecret.objects.filter(pk=row.pk, sealed=row.sealed).update(
                sealed=_seal(text), key_print=_key_print()
            )
    return done


def _first(owner_id: int) -> str:
    """Make the first secret of an owner, or read the one that was made at the same moment."""
    text = signing.new_secret()
    try:
        with transaction.atomic():
            _keep(owner_id, text)
    except IntegrityError:
        row = CallbackSecret.objects.get(owner_id=owner_id, retires_at__isnull=True)
        held = _opened(row)
        # Sealed with a key that nobody has any more: it can sign nothing, so another must.
        return replace(owner_id) if held is None else held
    return text


def _keep(owner_id: int, text: str) -> None:
    CallbackSecret.objects.create(owner_id=owner_id, sealed=_seal(text), key_print=_key_print())


def _seal(text: str) -> str:
    return _fernet().encrypt(text.encode()).decode()


def _opened(row: CallbackSecret) -> str | None:
    try:
        return _fernet().decrypt(row.sealed).decode()
    except InvalidToken:
        logger.error("secret %s was sealed with another DARKROOM_SECRET_KEY", row.pk)
        return None


def _fernet() -> MultiFernet:
    """Seal with the first, open with any."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(_derived(key, 32))) for key in keys])


def _key_print() -> str:
    """Return what tells secret keys apart without telling them."""
    return _derived(settings.SECRET_KEY, 8, b"print").hex()


def _derived(key: str, length: int, purpose: bytes = b"seal") -> bytes:
    info = b"darkroom.callback-secrets." + purpose
    return HKDF(SHA256(), length, salt=None, info=info).derive(key.encode())
