"""The one clock of decisions: the database's, so that a host with a wrong clock does no harm."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Return the database's time, as of this statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now
