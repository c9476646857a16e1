"""Against guessing passwords: ten tries in five minutes for a name from an address.

A try is counted before the password is looked at, in one step, so that parallel tries cannot
slip past the count; a login that succeeds clears it. Redis away: logins go on (fail open), as
nobody could come in to repair it otherwise.
"""

import hashlib
import logging
from typing import Final

from tasks_app.gates import keys
from tasks_app.gates.connection import RedisError, client

logger = logging.getLogger(__name__)

TRIES: Final = 10
WINDOW: Final = 300
"""Seconds, from the first try."""


def count(username: str, address: str) -> int:
    """Count one try. Return 0, or the seconds to wait when there were too many."""
    key = _key(username, address)
    try:
        pipe = client().pipeline(transaction=True)
        pipe.incr(key)
        pipe.expire(key, WINDOW, nx=True)
        pipe.ttl(key)
        tries, _, left = pipe.execute()
    except RedisError as error:
        logger.warning("login tries are not counted: %s", error)
        return 0
    return max(1, int(left)) if int(tries) > TRIES else 0


def clear(username: str, address: str) -> None:
    """Forget the tries: this one knew the password."""
    try:
        client().delete(_key(username, address))
    except RedisError as error:
        logger.warning("login tries are not cleared: %s", error)


def _key(username: str, address: str) -> str:
    """Name the counter without storing the name that was typed; it may be a password."""
    who = f"{username.strip().casefold()}\n{address}".encode("utf-8", "replace")
    digest = hashlib.sha256(who).hexdigest()[:32]
    return keys.login_tries(digest)
