"""API keys: made, found, revoked.

A key is ``dk_<prefix>_<secret>`` with 256 random bits; the table holds its SHA-256, which is
enough for a secret that cannot be guessed. Who a key belongs to is kept in Redis for 30 s and
in each process for 3 s; revoking a key (or deactivating its user) drops it from Redis, so it
acts everywhere within 3 s. Without Redis, each process asks the table every 3 s.

Guessing is not slowed down: 256 bits are out of reach at any rate, and counting would let whoever
guesses lock others out. What does not look like a key is refused unseen. An unknown key is
remembered in the process for those 3 s, in a place of its own, so that guesses push no known key
out, and leaves nothing in Redis; each costs a look-up by a unique index and nothing else.
"""

import hashlib
import logging
import re
import secrets
import time
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, cast

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F
from django.db.models.functions import Now
from django.db.models.signals import post_delete, post_save
from django.utils import timezone
from redis.exceptions import RedisError

from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.models import ApiKey

logger = logging.getLogger(__name__)

PREFIX: Final = "dk_"
MOST_KEYS: Final = 50
"""Usable keys of one user that makes them in the web UI."""

_MOST_SHOWN: Final = 200
_REDIS_SECONDS: Final = 30
_PROCESS_SECONDS: Final = 3.0
_USE_SECONDS: Final = 60.0
_NOBODY: Final = 0
_MAX_KEPT: Final = 10_000
_FORM: Final = re.compile(r"dk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", re.ASCII)


def create(user: AbstractBaseUser, name: str) -> tuple[ApiKey, str]:
    """Make a key; returns its row and the secret, which is shown this once."""
    prefix = secrets.token_hex(4)
    text = f"{PREFIX}{prefix}_{secrets.token_urlsafe(32)}"
    row = ApiKey.objects.create(user_id=user.pk, name=name, prefix=prefix, digest=digest(text))
    return row, text


def of(user_id: int) -> list[ApiKey]:
    """Return a user's keys: the usable ones first, the newest first."""
    own = ApiKey.objects.filter(user_id=user_id)
    return list(own.order_by(F("revoked_at").desc(nulls_first=True), "-created_at")[:_MOST_SHOWN])


def usable(user_id: int) -> int:
    """Count a user's keys that are not revoked."""
    return ApiKey.objects.filter(user_id=user_id, revoked_at__isnull=True).count()


def digest(text: str) -> str:
    """Return the SHA-256 of a key, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def owner_of(text: str) -> int | None:
    """Return the id of the active user whose valid key this is, or None."""
    if not _FORM.fullmatch(text):
        return None
    mark = digest(text)
    now = time.monotonic()
    held = _kept.get(mark) or _nobodys.get(mark)
    if held is None or now - held[0] > _PROCESS_SECONDS:
        held = _keep(mark, (now, _from_redis(mark)))
    user_id = held[1]
    if user_id == _NOBODY:
        return None
    _note_use(mark, now)
    return user_id


def revoke(key: ApiKey) -> None:
    """Revoke a key, for good; repeating it changes nothing."""
    ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=Now())
    _forget([key.digest], revoked=True)


def flush_use() -> None:
    """Write when keys were last used to the table, once a minute instead of at every request."""
    redis = client()
    used = cast("dict[bytes, bytes]", redis.hgetall(keys.credentials_used()))
    for mark, moment in used.items():
        try:
            at = datetime.fromtimestamp(float(moment), UTC)
        except (ValueError, OverflowError, OSError):
            continue  # no moment: dropped below with the others
        ApiKey.objects.filter(digest=mark.decode("ascii", "replace")).update(last_used_at=at)
    if used:
        redis.hdel(keys.credentials_used(), *used)


def connect() -> None:
    """Drop keys from the caches when their user changes (deactivation), or they are deleted."""
    post_save.connect(_user_saved, sender=get_user_model(), dispatch_uid="drop-cached-keys")
    post_delete.connect(_key_deleted, sender=ApiKey, dispatch_uid="drop-deleted-keys")


def clear_caches() -> None:
    """Forget what this process knows (tests)."""
    _kept.clear()
    _nobodys.clear()
    _used.clear()


_kept: dict[str, tuple[float, int]] = {}
_nobodys: dict[str, tuple[float, int]] = {}
_used: dict[str, float] = {}
_lock = Lock()


def _keep(mark: str, found: tuple[float, int]) -> tuple[float, int]:
    """Remember whose a key is, or that it is nobody's: each for itself, up to so many."""
    place, other = (_nobodys, _kept) if found[1] == _NOBODY else (_kept, _nobodys)
    with _lock:
        other.pop(mark, None)
        if len(place) >= _MAX_KEPT:
            place.clear()
        place[mark] = found
    return found


def _from_redis(mark: str) -> int:
    try:
        held = client().get(keys.credential(mark))
        if isinstance(held, bytes) and re.fullmatch(rb"-?[0-9]{1,18}", held):
            return int(held)
        found = _from_table(mark)
        if found != _NOBODY:
            # Only if absent: a key revoked since the table was read has left its mark here.
            client().set(keys.credential(mark), found, ex=_REDIS_SECONDS, nx=True)
    except RedisError as error:
        logger.warning("keys are looked up in the table: %s", error)
        return _from_table(mark)
    return found


def _from_table(mark: str) -> int:
    row = ApiKey.objects.filter(digest=mark, revoked_at__isnull=True, user__is_active=True)
    return row.values_list("user_id", flat=True).first() or _NOBODY


def _note_use(mark: str, now: float) -> None:
    if now - _used.get(mark, -_USE_SECONDS) < _USE_SECONDS:
        return
    with _lock:
        if len(_used) >= _MAX_KEPT:
            _used.clear()
        _used[mark] = now
    try:
        client().hset(keys.credentials_used(), mark, str(timezone.now().timestamp()))
    except RedisError as error:
        logger.warning("could not note the use of a key: %s", error)


def _forget(marks: list[str], *, revoked: bool) -> None:
    """Drop what is cached of keys, or put "nobody" in its place."""
    for mark in marks:
        _kept.pop(mark, None)
        _nobodys.pop(mark, None)
    try:
        with client().pipeline() as pipe:
            for mark in marks:
                if revoked:
                    pipe.set(keys.credential(mark), _NOBODY, ex=_REDIS_SECONDS)
                else:
                    pipe.delete(keys.credential(mark))
            pipe.execute()
    except RedisError as error:
        logger.warning("revoked keys stay in Redis for up to %d s: %s", _REDIS_SECONDS, error)


def _user_saved(instance: Any, created: bool, **_: Any) -> None:
    if created:
        return
    marks = list(ApiKey.objects.filter(user_id=instance.pk).values_list("digest", flat=True))
    if marks:
        _forget(marks, revoked=not instance.is_active)


def _key_deleted(instance: ApiKey, **_: Any) -> None:
    """Deleted together with a user who never had a task: nobody's from now on."""
    _forget([instance.digest], revoked=True)
