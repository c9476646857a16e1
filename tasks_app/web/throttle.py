"""Against guessing passwords: ten tries in five minutes for a name from an address.

And a hundred for a name from anywhere, so that many addresses do not give many tries. Names are
counted as the table compares them, and more: however a name is spelled in Unicode, and in
whatever case, it is the same one.

A try is counted before the password is looked at, in one step, so that parallel tries cannot
slip past the count. One that succeeds clears the count of its address and takes itself out of
the other, which goes on for those who guess. Redis away: logins go on (fail open), as nobody
could come in to repair it otherwise.
"""

import hashlib
import logging
import unicodedata
from typing import Final

from tasks_app.gates import keys
from tasks_app.gates.connection import RedisError, client

logger = logging.getLogger(__name__)

TRIES: Final = 10
TRIES_ANYWHERE: Final = 100
WINDOW: Final = 300
"""Seconds, from the first try."""


def count(username: str, address: str) -> int:
    """Count one try. Return 0, or the seconds to wait when there were too many."""
    here, anywhere = _keys(username, address)
    try:
        pipe = client().pipeline(transaction=True)
        for key in (here, anywhere):
            pipe.incr(key)
            pipe.expire(key, WINDOW, nx=True)
            pipe.ttl(key)
        tries, _, left, tries_anywhere, _, left_anywhere = map(int, pipe.execute())
    except RedisError as error:
        logger.warning("login tries are not counted: %s", error)
        return 0
    waits = [left] if tries > TRIES else []
    waits += [left_anywhere] if tries_anywhere > TRIES_ANYWHERE else []
    return max(1, *waits) if waits else 0


def clear(username: str, address: str) -> None:
    """Forget the tries from here: this one knew the password."""
    here, anywhere = _keys(username, address)
    try:
        pipe = client().pipeline(transaction=True)
        pipe.delete(here)
        pipe.decr(anywhere)
        pipe.expire(anywhere, WINDOW, nx=True)
        pipe.execute()
    except RedisError as error:
        logger.warning("login tries are not cleared: %s", error)


def _keys(username: str, address: str) -> tuple[str, str]:
    """Name the counters without storing the name that was typed; it may be a password."""
    name = _folded(username)
    return keys.login_tries(_digest(f"{name}\n{address}")), keys.login_tries(_digest(name))


def _folded(username: str) -> str:
    """Return what all spellings of a name have in common. Folding may undo the normal form."""
    normal = unicodedata.normalize("NFKC", username)
    return unicodedata.normalize("NFKC", normal.casefold()).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
