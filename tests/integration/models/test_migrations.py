"""What was stored before a bound was drawn is brought within it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from tasks_app.models import Account, Flow, Generator, Plan, Pool, Task
from tests.conftest import make_generator, make_user
from tests.integration.helpers import submit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def before() -> Iterator[tuple[Generator, Any, Task]]:
    """Rows that today's code has made, as it knows today's tables only; then those of before."""
    generator, user = make_generator(), make_user("alice")
    task = submit(user)
    call_command("migrate", "tasks_app", "0007", verbosity=0)
    yield generator, user, task
    call_command("migrate", "tasks_app", verbosity=0)


def write(table: str, **values: Any) -> None:
    columns = ", ".join(f"{name} = %s" for name in values)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE tasks_app_{table} SET {columns}", list(values.values()))


def test_numbers_beyond_the_bounds_are_brought_to_them(
    before: tuple[Generator, Any, Task],
) -> None:
    generator, user, task = before
    write(
        "generator",
        timeout_seconds=1e300,
        expected_seconds=float("inf"),
        max_running=10**9,
        failure_budget=10**9,
        settings=json.dumps([1]),
    )
    wide = {"submit_interval": 1e12, "submit_burst": 10**9, "weight": 1e308, "max_open": 10**9}
    write("plan", **wide)
    write("account", max_running=10**9, weight=1e-300, submit_interval=None)
    write("pool", virtual_time=float("nan"))
    write("flow", head_tag=1e300, last_tag=1e300, finish_tag=float("inf"))
    write("task", tag=float("inf"), share=float("inf"))
    write("account", submit_tat="9000-01-01 00:00Z")
    call_command("migrate", "tasks_app", verbosity=0)

    found = Generator.objects.get(pk=generator.pk)
    assert (found.timeout_seconds, found.expected_seconds) == (604_800, 86_400)
    assert (found.max_running, found.failure_budget) == (100_000, 1_000)
    assert (found.settings, found.enabled) == ({}, False)
    plan = Plan.objects.get(is_default=True)
    assert (plan.submit_interval, plan.submit_burst) == (86_400, 10_000)
    assert (plan.weight, plan.max_open) == (1_000, 1_000_000)
    account = Account.objects.get(user=user)
    assert (account.max_running, account.weight) == (100_000, 0.01)
    assert (account.submit_interval, account.submit_tat) == (None, None)
    task.refresh_from_db()
    assert (task.tag, task.share) == (0, 0)
    assert list(Flow.objects.values_list("head_tag", "finish_tag")) == [(0, 0)]
    assert set(Pool.objects.values_list("virtual_time", flat=True)) <= {0}
