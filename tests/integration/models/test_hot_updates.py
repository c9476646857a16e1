"""What changes often is changed in place: no index is written, no table grows."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from tasks_app.core import credentials, notices, signs
from tasks_app.maintenance import tallies
from tasks_app.maintenance.report import Report
from tasks_app.models import Account, ApiKey, Attempt, Generator, Pool, Tally
from tests.integration.helpers import claimed, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

TIMES = 50


def updates(table: str) -> tuple[int, int]:
    """Return how many rows of a table were updated since it was made, and how many in place."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()" if _newer() else "SELECT 1")
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s",
            [f"tasks_app_{table}"],
        )
        all_of_them, in_place = cursor.fetchone()
        return int(all_of_them), int(in_place)


def _newer() -> bool:
    return bool(connection.pg_version >= 150_000)  # type: ignore[attr-defined]


@pytest.fixture
def busy(alice: Any, sleeper: Generator) -> Iterator[Attempt]:
    submit(alice)
    credentials.create(alice, "key")
    yield claimed().attempt


def beat(user: Any) -> None:
    Attempt.objects.update(heartbeat_at=Now(), progress=F("progress") + 0.001)


def spend(user: Any) -> None:
    Account.objects.filter(user=user).update(submit_tat=Now())


def look(user: Any) -> None:
    from django.utils import timezone

    notices.looked_at(user.pk, timezone.now())


def advance(user: Any) -> None:
    Pool.objects.update(virtual_time=F("virtual_time") + 1)


def use_key(user: Any) -> None:
    ApiKey.objects.update(last_used_at=Now())


def sign(user: Any) -> None:
    signs.leave("test")


def count(user: Any) -> None:
    generator = Generator.objects.get()
    Tally.objects.create(
        kind="test", generator_id=generator.pk, state="", code="", reason="", seconds=None
    )
    tallies.fold(Report(), dry_run=False)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("attempt", beat),
        ("account", spend),
        ("account", look),
        ("pool", advance),
        ("apikey", use_key),
        ("sign", sign),
        ("total", count),
    ],
)
def test_what_changes_often_is_changed_in_place(
    alice: Any, busy: Attempt, table: str, change: Callable[[Any], None]
) -> None:
    change(alice)  # the first one may insert
    before = updates(table)
    for _ in range(TIMES):
        change(alice)
    after = updates(table)
    changed, in_place = after[0] - before[0], after[1] - before[1]
    assert changed >= TIMES
    # Where a page is full, one update in a page's worth moves on to the next page.
    assert in_place >= 0.9 * changed


def test_tables_that_change_are_vacuumed_early() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, reloptions FROM pg_class WHERE relname LIKE 'tasks_app_%%' "
            "AND relkind = 'r' AND reloptions IS NOT NULL"
        )
        options = {name.removeprefix("tasks_app_"): set(found) for name, found in cursor.fetchall()}
    for table in ("task", "attempt", "flow", "pool", "account", "artifact", "apikey"):
        assert "autovacuum_vacuum_scale_factor=0.01" in options[table], table
        assert "fillfactor=85" in options[table], table
    for table in ("task", "attempt", "event", "archivedtask"):
        assert "autovacuum_vacuum_insert_scale_factor=0.05" in options[table], table
    for table in ("event", "idempotencykey"):
        assert "autovacuum_vacuum_scale_factor=0.02" in options[table], table
