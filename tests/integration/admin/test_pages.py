"""Every page of the staff answers, asks the database a bounded number of times, by index."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries
from redis.exceptions import ConnectionError as RedisConnectionError

from tasks_app.admin import now, searching
from tasks_app.admin.base import Uncounted
from tasks_app.core import observation, outcomes, staff
from tasks_app.gates.connection import client as redis_client
from tasks_app.models import Event, Flow, Generator, Task, new_id
from tests.conftest import make_generator, make_user
from tests.integration.helpers import artifacts, claimed, submit
from tests.unit.web.pages import Page

pytestmark = pytest.mark.django_db

LISTS = (
    "tasks_app/task",
    "tasks_app/archivedtask",
    "tasks_app/event",
    "tasks_app/generator",
    "tasks_app/plan",
    "tasks_app/groupplan",
    "tasks_app/account",
    "tasks_app/apikey",
    "auth/user",
    "auth/group",
)


@pytest.fixture
def busy(alice: Any, sleeper: Generator, open_slots: None, key_of: Callable[[Any], str]) -> Task:
    """Return a finished task, among a canceled, a running and a waiting one."""
    key_of(alice)
    done, _, _ = submit(alice), submit(alice), submit(alice)
    claim = claimed()
    outcomes.succeeded(claim.attempt, artifacts(claim.task.pk))
    claimed()
    staff.cancel(submit(alice).pk, "carol")
    return Task.objects.get(pk=done.pk)


@pytest.mark.parametrize("name", LISTS)
def test_lists_answer_to_those_who_may_look(
    staff_with: Callable[..., Client], root: Client, busy: Task, name: str
) -> None:
    assert root.get(f"/admin/{name}/").status_code == 200
    answer = staff_with().get(f"/admin/{name}/")
    assert answer.status_code == (403 if name == "auth/group" else 200)


@pytest.mark.parametrize("name", LISTS)
def test_users_who_are_no_staff_and_strangers_are_sent_away(
    client: Client, bob: Any, name: str
) -> None:
    assert client.get(f"/admin/{name}/").status_code == 302
    client.force_login(bob)
    assert client.get(f"/admin/{name}/").status_code == 302


def test_everybody_logs_in_at_the_one_place_that_counts_tries(
    client: Client, bob: Any, root: Client
) -> None:
    assert client.get("/admin/login/?next=/admin/auth/user/")["Location"] == (
        "/login?next=/admin/auth/user/"
    )
    assert client.get("/admin/login/?next=https://evil.example/")["Location"] == (
        "/login?next=/admin/"
    )
    guess = {"username": "root", "password": "root-password"}
    client.post("/admin/login/", guess)
    assert client.get("/admin/").status_code == 302
    assert root.get("/admin/login/?next=/admin/auth/user/")["Location"] == "/admin/auth/user/"
    assert root.get("/admin/login/?next=//evil.example/")["Location"] == "/admin/"
    client.force_login(bob)
    assert client.get("/admin/login/?next=/admin/").status_code == 403


@pytest.mark.parametrize("name", LISTS)
def test_forms_answer(root: Client, busy: Task, name: str) -> None:
    added = root.get(f"/admin/{name}/add/").status_code
    to_read = ("tasks_app/task", "tasks_app/archivedtask", "tasks_app/event")
    assert added == (403 if name in to_read else 200)


def test_the_page_of_a_task_tells_everything(root: Client, busy: Task) -> None:
    text = root.get(f"/admin/tasks_app/task/{busy.pk}/change/").content.decode()
    for expected in ("submitted", "claimed", "succeeded", "by hand", "/files/", str(busy.pk)):
        assert expected in text, expected
    assert "Retry as a new task" in text
    assert "Cancel" not in Page(text).ids
    assert 'name="state"' not in text


def test_the_state_of_a_task_cannot_be_written(root: Client, busy: Task) -> None:
    path = f"/admin/tasks_app/task/{busy.pk}/change/"
    assert root.post(path, {"state": "pending"}).status_code == 403
    busy.refresh_from_db()
    assert busy.state == "success"


@pytest.mark.parametrize(
    "name",
    ["tasks_app/task", "tasks_app/event", "auth/user", "tasks_app/account", "tasks_app/apikey"],
)
def test_nothing_is_deleted_where_history_would_be_lost(
    root: Client, busy: Task, name: str
) -> None:
    events = Event.objects.values_list("pk", flat=True)
    pk = {"tasks_app/task": busy.pk, "tasks_app/event": events[0]}.get(name, busy.owner_id)
    assert root.post(f"/admin/{name}/{pk}/delete/", {"post": "yes"}).status_code in (403, 302)
    data = {"action": "delete_selected", "_selected_action": [str(pk)], "post": "yes"}
    root.post(f"/admin/{name}/", data)
    assert Task.objects.count() == 4
    assert User.objects.filter(pk=busy.owner_id).exists()
    assert Event.objects.filter(task_id=busy.pk).exists()


def test_a_generator_with_tasks_is_not_deleted_and_one_without_is(root: Client, busy: Task) -> None:
    unused = make_generator("unused")
    root.post(f"/admin/tasks_app/generator/{busy.generator_id}/delete/", {"post": "yes"})
    root.post(f"/admin/tasks_app/generator/{unused.pk}/delete/", {"post": "yes"})
    assert list(Generator.objects.values_list("name", flat=True)) == ["sleeper"]


# --- what it costs -------------------------------------------------------------------------


def many(alice: Any, generator: Generator, number: int) -> None:
    """Insert tasks that ended long ago, as a large service has them."""
    flow = Flow.objects.filter(owner=alice).first() or Flow.objects.create(
        pool="default", generator=generator, owner=alice, priority="normal"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO tasks_app_task (id, owner_id, generator_id, flow_id, pool, state, version,
                priority, params, metadata, allow_degraded, degraded, request_id, tag, share,
                attempt_number, failures, max_wait, created_at, started_at, finished_at,
                error_code, error_detail, result_count, result_expires_at)
            SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
                    || '7' || lpad(to_hex(n %% 4096), 3, '0') || '8000'
                    || lpad(to_hex(n), 12, '0'))::uuid,
                %(owner)s, %(generator)s, %(flow)s, 'default',
                CASE WHEN n %% 50 = 0 THEN 'failed' ELSE 'success' END, 3, 'normal',
                '{"prompt": "x"}', '{}', false, false, '', n, 1, 1, 0, 3600,
                at, at + interval '2 s', at + interval '6 s',
                CASE WHEN n %% 50 = 0 THEN 'internal' ELSE '' END, '',
                CASE WHEN n %% 50 = 0 THEN 0 ELSE 1 END,
                CASE WHEN n %% 50 = 0 THEN NULL ELSE at + interval '7 days' END
            FROM (SELECT n, clock_timestamp() - interval '30 days' + n * interval '1 s' AS at
                  FROM generate_series(1, %(number)s) AS n) AS made
            """,
            {"owner": alice.pk, "generator": generator.pk, "flow": flow.pk, "number": number},
        )
        cursor.execute("ANALYZE tasks_app_task")


@pytest.mark.parametrize(
    "path",
    [
        "/admin/",
        "/admin/tasks_app/task/",
        "/admin/tasks_app/task/?state=failed",
        "/admin/tasks_app/task/?state=canceled",
        "/admin/tasks_app/task/?generator=sleeper&since=7d",
        "/admin/tasks_app/task/?q=ali",
        "/admin/tasks_app/event/",
        "/admin/tasks_app/generator/",
        "/admin/tasks_app/account/",
        "/admin/auth/user/",
    ],
)
def test_a_page_asks_as_often_for_many_rows_as_for_few(
    root: Client, busy: Task, alice: Any, sleeper: Generator, path: str
) -> None:
    def asked() -> int:
        now.forget()
        root.get(path)  # content types and the like are read once per process
        now.forget()
        with CaptureQueriesContext(connection) as queries:
            assert root.get(path).status_code == 200
        return len(queries)

    few = asked()
    many(alice, sleeper, 120)
    for number in range(6):
        make_user(f"alike{number}")
        make_generator(f"more{number}", pool=f"pool{number}")
    assert asked() <= few + 2
    assert few <= 24


def test_the_page_of_a_task_asks_as_often_for_a_long_history(
    root: Client, busy: Task, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(30):
        Event.objects.create(task=busy, at=busy.created_at, kind="requeued")
    with django_assert_max_num_queries(16):
        root.get(f"/admin/tasks_app/task/{busy.pk}/change/")


def plan_of(rows: Any) -> str:
    return str(rows.explain())


def test_lists_of_many_tasks_are_read_by_index(
    root: Client, alice: Any, sleeper: Generator, db: None
) -> None:
    many(alice, sleeper, 20_000)
    others = make_generator("rare")
    newest = Task.objects.order_by("-id")
    prefix = str(newest.first().pk)[:13]  # type: ignore[union-attr]
    plans = {
        "newest": plan_of(newest[:50]),
        "failed": plan_of(newest.filter(state="failed").exclude(error_code="canceled")[:50]),
        "canceled": plan_of(newest.filter(error_code="canceled")[:50]),
        "timeout": plan_of(newest.filter(state="timeout")[:50]),
        "pending": plan_of(newest.filter(state="pending")[:50]),
        "running": plan_of(newest.filter(state="running")[:50]),
        "rare generator": plan_of(newest.filter(generator_id__in=[others.pk])[:50]),
        "id": plan_of(searching.search(newest, prefix, "id", "owner_id")[:50]),
        "nobody": plan_of(searching.search(newest, "zz", "id", "owner_id")[:50]),
    }
    for name, plan in plans.items():
        assert "Seq Scan" not in plan, (name, plan)
    assert "task_trouble_newest" in plans["failed"]
    assert "task_canceled_newest" in plans["canceled"]
    assert "Index Cond: (generator_id = " in plans["rare generator"]


def test_the_paces_of_a_day_do_not_read_the_month_before(
    alice: Any, sleeper: Generator, db: None
) -> None:
    many(alice, sleeper, 20_000)  # all of them a month ago
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + observation._PACES, {"sample": observation.SAMPLE})
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert re.search(r"Index Cond: .*finished_at > ", plan), plan
    assert observation.paces() == {}


def test_counting_is_bounded(alice: Any, sleeper: Generator, monkeypatch: Any) -> None:
    many(alice, sleeper, 300)
    newest = Task.objects.order_by("-id")
    monkeypatch.setattr("tasks_app.admin.base.MOST_COUNTED", 100)
    assert Uncounted(newest, 50).count == 100
    assert Uncounted(newest.filter(state="failed"), 50).count == 6
    assert Uncounted(newest.filter(params__prompt="100% 'odd'"), 50).count == 0
    with CaptureQueriesContext(connection) as queries:
        _ = Uncounted(newest, 50).count
    assert "LIMIT 100" in queries[0]["sql"]


# --- search --------------------------------------------------------------------------------


def test_a_task_is_found_by_the_beginning_of_its_id_or_of_its_owners_name(
    root: Client, busy: Task, bob: Any
) -> None:
    other = submit(bob)

    def found(term: str) -> set[UUID]:
        answer = root.get("/admin/tasks_app/task/", {"q": term})
        return {task.pk for task in answer.context["cl"].result_list}

    assert found(str(busy.pk)) == {busy.pk}
    assert found(str(busy.pk)[:35]) >= {busy.pk}
    assert found(str(busy.pk).replace("-", "")) == {busy.pk}
    assert found("bo") == {other.pk}
    assert found("ob") == found("nobody") == found(str(new_id())) == found("' OR 1=1") == set()
    assert len(found(str(busy.pk)[:8])) == 5


@pytest.mark.parametrize(
    ("term", "first", "last"),
    [
        (
            "01a2288e",
            "01a2288e-0000-0000-0000-000000000000",
            "01a2288e-ffff-ffff-ffff-ffffffffffff",
        ),
        (
            "01A2288E-7c",
            "01a2288e-7c00-0000-0000-000000000000",
            "01a2288e-7cff-ffff-ffff-ffffffffffff",
        ),
        ("01a22", None, None),
        ("alice", None, None),
        ("01a2288e" * 5, None, None),
    ],
)
def test_prefixes_are_ranges(term: str, first: str | None, last: str | None) -> None:
    expected = (UUID(first), UUID(last)) if first and last else None
    assert searching.id_range(term) == expected


# --- the dashboard -------------------------------------------------------------------------


def test_the_dashboard_shows_states_paces_slots_queues_and_workers(
    root: Client, busy: Task
) -> None:
    text = root.get("/admin/").content.decode()
    assert text.count('class="plot"') == 4
    for word in ("sleeper waits", "sleeper takes", "1 / 20", "no worker", "1 / 1000"):
        assert word in text, word
    assert "<strong>1</strong> <span>succeeded" in text
    assert "<script>" not in text
    assert " style=" not in text.split('<div class="overview">')[1].split("</section>")[0]


def test_the_dashboard_is_read_once_for_everybody(
    root: Client, busy: Task, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    root.get("/admin/")
    with django_assert_max_num_queries(5):  # session, user, log
        root.get("/admin/")


def test_without_redis_the_pages_still_come(
    root: Client, busy: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any, **options: Any) -> Any:
        raise RedisConnectionError("away")

    monkeypatch.setattr(type(redis_client()), "execute_command", away)
    monkeypatch.setattr("redis.client.Pipeline.execute", away)
    text = root.get("/admin/").content.decode()
    assert "Redis does not answer" in text
    text = root.get("/admin/tasks_app/generator/").content.decode()
    assert "? / 1000" in text


def test_who_may_not_see_tasks_sees_no_dashboard(db: None) -> None:
    user = make_user("dave")
    user.is_staff = True
    user.save()
    browser = Client()
    browser.force_login(user)
    answer = browser.get("/admin/")
    assert answer.status_code == 200
    assert 'class="plot"' not in answer.content.decode()
