"""The one clock of decisions: the database's, so that a host with a wrong clock does no harm.

Benchmarks that play a day in minutes pass the time in (``at``); nothing else does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

_passed_in: ContextVar[datetime | None] = ContextVar("passed_in", default=None)


def database_now() -> datetime:
    """Return the database's time, as of this statement."""
    passed_in = _passed_in.get()
    if passed_in is not None:
        return passed_in
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def passed_in() -> datetime | None:
    """Return the moment that was passed in; None when it is the database's clock that counts."""
    return _passed_in.get()


def written_now() -> Combinable:
    """Return what writes the database's time into a row."""
    passed_in = _passed_in.get()
    return Now() if passed_in is None else Value(passed_in, output_field=DateTimeField())


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Let it be this moment, for this thread, while the context lasts (benchmarks only)."""
    token = _passed_in.set(moment)
    try:
        yield
    finally:
        _passed_in.reset(token)
