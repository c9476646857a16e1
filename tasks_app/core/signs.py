"""Leaving signs for the doctor: this host did that chore just now, with this secret key."""

import socket
from typing import Final

from django.db import connection
from django.utils.crypto import salted_hmac

TICK: Final = "tick"
SWEEP: Final = "sweep"
"""By cron; the ticker's own sweeps leave no sign, so that a dead cron shows."""

_FORGET_HOSTS: Final = "1 day"
_LEAVE: Final = """
INSERT INTO tasks_app_sign (chore, host, key_print, at)
VALUES (%s, %s, %s, clock_timestamp())
ON CONFLICT (chore, host) DO UPDATE SET key_print = EXCLUDED.key_print, at = EXCLUDED.at
"""
_FORGET: Final = f"DELETE FROM tasks_app_sign WHERE at < now() - interval '{_FORGET_HOSTS}'"  # noqa: S608


def leave(chore: str) -> None:
    """Say that this host did the chore now. Raises a database error."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAVE, [chore, this_host(), key_print()])
        cursor.execute(_FORGET)


def tick() -> None:
    """Say that this host's ticker lives."""
    leave(TICK)


def this_host() -> str:
    """Return this host's name, as signs have it."""
    return socket.gethostname()[:253]


def key_print() -> str:
    """Return what tells this secret key from others."""
    return salted_hmac("darkroom.signs", "").hexdigest()[:16]
