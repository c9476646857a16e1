"""Many endings at once: the same as one by one, beside anybody else, and none keeps the others."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.db import connection, transaction
from django.db.models import F, Sum
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from tasks_app.core import (
    cancellation,
    claim,
    fairness,
    moving,
    outcomes,
    queries,
    quotas,
    transitions,
    withdrawal,
)
from tasks_app.core.clock import database_now
from tasks_app.core.seen import Glance, glances
from tasks_app.core.transitions import IllegalTransition, move_many
from tasks_app.gates import control, snapshots
from tasks_app.gates.connection import client
from tasks_app.lifecycle import ErrorCode, EventKind, Priority, State
from tasks_app.maintenance import counts, sweep
from tasks_app.maintenance.report import Report
from tasks_app.models import (
    Attempt,
    Callback,
    CallbackAddress,
    DayUse,
    Event,
    Flow,
    Generator,
    Task,
)
from tests.conftest import make_generator, make_user
from tests.integration.core.test_races import ENDINGS, together
from tests.integration.helpers import artifacts, claimed, shift, submit, waits_for, wrong_heads
from tests.processes import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

HOOK = "https://hooks.example.com/own"
GONE = "https://hooks.example.com/gone"
DEFAULT = "https://hooks.example.com/default"
A_DAY = timedelta(days=1)


def fresh(tasks: Sequence[Task]) -> list[Task]:
    """Read the tasks as they are now, in this order."""
    found = Task.objects.in_bulk([task.pk for task in tasks])
    return [found[task.pk] for task in tasks]


# --- the same as one by one ------------------------------------------------------------------


def waiting(alice: Any, bob: Any) -> list[Task]:
    """Make waiting tasks of all kinds: owners, flows, days, callbacks, paid for or not."""
    paid = submit(alice)
    outcomes.interrupted(claimed().attempt)
    Attempt.objects.filter(task=paid).update(ended_at=F("started_at") + timedelta(seconds=0.25))
    tasks = [paid, submit(alice), submit(alice, priority=Priority.LOW)]
    tasks += [submit(alice, generator="other"), submit(bob), submit(bob)]
    Task.objects.filter(pk=tasks[1].pk).update(callback_url=HOOK)
    Task.objects.filter(pk=tasks[2].pk).update(callback_url=GONE)
    shift(tasks[3], "created_at", -A_DAY.total_seconds())
    DayUse.objects.create(owner=alice, day=quotas.day_of(database_now() - A_DAY), number=3)
    return fresh(tasks)


def running(alice: Any, bob: Any) -> list[Task]:
    """Make running tasks, one of whose attempts works elsewhere."""
    tasks = [submit(alice), submit(bob), submit(bob, generator="other")]
    for _ in tasks:
        claimed()
    Attempt.objects.filter(task=tasks[1]).update(remote=True, upstream_id="theirs")
    return fresh(tasks)


def at_a_glance(tasks: Sequence[Task]) -> list[UUID]:
    """End them as the sweep does, which reads no whole rows."""
    found = {one.pk: one for one in glances(Task.objects.filter(pk__in=[one.pk for one in tasks]))}
    return outcomes.timed_out_many([found[task.pk] for task in tasks])


def singly(tasks: Sequence[Task]) -> list[UUID]:
    return [task.pk for task in tasks if outcomes.timed_out(task)]


def traces(task: Task, version: int) -> list[Any]:
    """Return all that an ending leaves of a task, but for ids and times."""
    now = Task.objects.get(pk=task.pk)
    lines = Event.objects.filter(task=task).order_by("id")
    told = Callback.objects.filter(task_id=task.pk)
    attempts = Attempt.objects.filter(task=task)
    seen = queries.view(task.pk, task.owner_id)
    return [
        (now.state, now.error_code, now.error_detail, now.paid_by, now.version - version),
        now.finished_at is not None,
        list(lines.values_list("kind", "attempt_number", "data")),
        [(one.event, one.url, one.lane, one.state, said(one)) for one in told],
        [(one.revoked_at is None, one.next_poll_at is None, one.outcome) for one in attempts],
        [control.asked_to_stop(one.claim_id, client()) for one in attempts],
        (seen.document["status"], seen.document["error"], seen.etag.split("-")[0]),
    ]


def said(callback: Callback) -> list[Any]:
    body = orjson.loads(bytes(callback.body))
    data = body["data"]
    assert data["task_id"] == str(callback.task_id)
    assert data["finished_at"] is not None
    return [body["type"], data["status"], data["error"], data["generator"], sorted(data)]


@pytest.mark.parametrize("make", [waiting, running])
def test_a_batch_leaves_what_single_endings_leave(
    alice: Any, bob: Any, caplog: pytest.LogCaptureFixture, make: Callable[..., list[Task]]
) -> None:
    caplog.set_level(logging.INFO, "tasks_app.core.transitions")
    make_generator(), make_generator(name="other")
    CallbackAddress.objects.create(owner=bob, url=DEFAULT, is_default=True)
    CallbackAddress.objects.create(owner=alice, url=GONE, disabled_at=database_now())
    found = []
    for end in (singly, outcomes.timed_out_many, at_a_glance):
        DayUse.objects.all().delete()
        tasks = make(alice, bob)
        versions = [task.version for task in tasks]
        tags = Flow.objects.aggregate(sum=Sum("finish_tag"))["sum"]
        caplog.clear()
        assert sorted(end(tasks)) == sorted(task.pk for task in tasks)
        numbers = list(DayUse.objects.order_by("owner", "day").values_list("number", flat=True))
        overpaid = tags - Flow.objects.aggregate(sum=Sum("finish_tag"))["sum"]
        about = [dict(one.about, task="", request="") for one in caplog.records]  # type: ignore[attr-defined]
        left = [traces(*one) for one in zip(tasks, versions, strict=True)]
        found.append((left, about, numbers, round(overpaid, 6)))
        assert wrong_heads() == []
        Attempt.objects.filter(ended_at__isnull=True).update(ended_at=Now(), outcome="revoked")
    one, *batches = found
    for many in batches:
        assert one[0] == many[0]
        assert sorted(map(str, one[1])) == sorted(map(str, many[1]))
        assert one[2] == many[2] == ([2, 1, 0] if make is waiting else [0, 0]), "days given back"
        assert one[3] == many[3], "as much is given back to the flows"
    assert len(one[1]) == len(one[0])
    assert (one[3] > 0) is (make is waiting)
    assert [len(trace[3]) for trace in one[0]] == (
        [0, 1, 1, 0, 1, 1] if make is waiting else [0, 1, 1]
    )
    if make is running:
        assert [trace[4:6] for trace in one[0]] == [
            [[(False, True, "")], ["timed_out"]],
            [[(False, False, "")], ["timed_out"]],
            [[(False, True, "")], ["timed_out"]],
        ], "all are told to stop, and the one elsewhere is looked at now"


def test_a_glance_is_what_the_row_says(alice: Any, bob: Any) -> None:
    make_generator(), make_generator(name="other")
    tasks = waiting(alice, bob)
    shift(tasks[0], "created_at", -A_DAY.total_seconds() / 2)
    named = [field.name for field in fields(Glance)]
    for one in glances(Task.objects.all()):
        row = Task.objects.get(pk=one.pk)
        assert {name: getattr(one, name) for name in named} == {
            name: getattr(row, name) for name in named
        }
        assert (one.terminal, one.counted_on) == (False, quotas.day_of(row.created_at))


def test_what_batches_change_besides_is_a_column_and_a_plain_value(
    alice: Any, sleeper: Generator
) -> None:
    tasks = fresh([submit(alice), submit(alice)])
    with pytest.raises(KeyError):
        move_many(tasks, State.TIMEOUT, EventKind.TIMED_OUT, error_kode="canceled")
    told: dict[str, Any] = {"error_code": "canceled", "error_detail": "100 % 'gone'", "failures": 2}
    assert move_many(tasks, State.FAILED, EventKind.CANCELED, **told) == tasks
    for task in fresh(tasks):
        assert {name: getattr(task, name) for name in told} == told


def test_a_batch_of_one_more_costs_no_statement_more(alice: Any, sleeper: Generator) -> None:
    numbers = []
    for many in (2, 2, 12):  # the first one also learns the generator's name, for the log
        tasks = fresh([submit(alice) for _ in range(many)])
        with CaptureQueriesContext(connection) as asked:
            assert len(outcomes.timed_out_many(tasks)) == many
        numbers.append(len(asked))
    assert numbers[1] == numbers[2]


# --- what is no longer as it was read --------------------------------------------------------


def test_what_changed_since_it_was_read_is_left_out(alice: Any, sleeper: Generator) -> None:
    tasks = fresh([submit(alice) for _ in range(4)])
    cancellation.cancel(tasks[0].pk, alice.pk)
    one = claimed()
    outcomes.interrupted(one.attempt)  # waits again, but not as it was read
    assert outcomes.timed_out_many(tasks) == [
        task.pk for task in tasks[1:] if task.pk != one.task.pk
    ]
    assert [task.state for task in fresh(tasks)] == ["failed", "pending", "timeout", "timeout"]
    assert outcomes.timed_out_many(tasks) == []
    assert counts.wrong(quotas.day_of(database_now())) == []


@pytest.mark.parametrize("end", [singly, outcomes.timed_out_many])
def test_what_has_moved_to_another_flow_is_not_as_it_was_read(
    alice: Any, end: Callable[[Sequence[Task]], list[UUID]]
) -> None:
    make_generator()
    other = make_generator(name="other")
    tasks = fresh([submit(alice), submit(alice)])
    assert moving.move_to(Task.objects.select_related("generator").get(pk=tasks[0].pk), other)
    assert end(tasks) == [tasks[1].pk]
    assert wrong_heads() == []
    assert end(fresh(tasks)) == [tasks[0].pk]
    assert wrong_heads() == []


@contextmanager
def held(*tasks: Task) -> Iterator[None]:
    """Let somebody else hold rows of tasks."""
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                rows = Task.objects.filter(pk__in=[task.pk for task in tasks])
                list(rows.select_for_update(no_key=True))
                taken.set()
                over.wait(30)
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(30)
    try:
        yield
    finally:
        over.set()
        thread.join(30)


def test_a_batch_does_not_wait_for_what_somebody_holds(alice: Any, sleeper: Generator) -> None:
    for _ in range(3):
        submit(alice)
    one, two, three = (claimed().task for _ in range(3))
    with held(two):
        assert set(outcomes.timed_out_many([one, two, three])) == {one.pk, three.pk}
    assert outcomes.timed_out_many([two]) == [two.pk]


LOCK = 7_070_707


def test_what_changes_before_a_batch_holds_it_is_judged_as_it_is_then(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement sees the table as of its beginning, and has locked nothing yet."""
    for _ in range(4):
        submit(alice)
    done, again, touched, same = (claimed() for _ in range(4))
    read = glances(Task.objects.order_by("pk"))
    paused = f"WHERE (SELECT pg_advisory_xact_lock({LOCK})) IS NOT NULL AND "
    monkeypatch.setattr(transitions, "_UPDATE", transitions._UPDATE.replace("WHERE ", paused, 1))

    def meanwhile() -> None:
        outcomes.succeeded(done.attempt, artifacts(done.task.pk))
        outcomes.interrupted(again.attempt)
        assert claimed().task.pk == again.task.pk
        Task.objects.filter(pk=touched.task.pk).update(version=F("version") + 5)

    ended = _paused_while(meanwhile, lambda: outcomes.timed_out_many(read))
    assert set(ended) == {touched.task.pk, same.task.pk}
    states = Task.objects.order_by("pk").values_list("state", "attempt_number")
    assert list(states) == [("success", 1), ("running", 2), ("timeout", 1), ("timeout", 1)]
    versions = dict(Task.objects.values_list("pk", "version"))
    assert [one.version for one in read[2:]] == [versions[one.pk] for one in read[2:]]
    told = Event.objects.filter(kind=EventKind.TIMED_OUT.value).values_list("task_id", flat=True)
    assert sorted(told) == sorted(ended)
    assert counts.wrong(quotas.day_of(database_now())) == []


def _paused_while(meanwhile: Callable[[], None], action: Callable[[], list[UUID]]) -> list[UUID]:
    """Do something while an action waits for the lock in the middle of its statement."""
    found: list[UUID] = []

    def act() -> None:
        try:
            found.extend(action())
        finally:
            connection.close()

    thread = threading.Thread(target=act)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            thread.start()
            eventually(lambda: waits_for("advisory"))
            meanwhile()
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
            thread.join(30)
    return found


def test_a_batch_is_of_one_state_and_follows_the_table(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    tasks = [claimed().task, submit(alice)]
    with pytest.raises(ValueError, match="several states"):
        outcomes.timed_out_many(tasks)
    with pytest.raises(IllegalTransition):
        move_many(tasks[1:], State.SUCCESS, EventKind.SUCCEEDED)
    assert [task.state for task in fresh(tasks)] == ["running", "pending"]


def test_readers_see_the_end_and_nobody_takes_it_back(alice: Any, sleeper: Generator) -> None:
    tasks = fresh([submit(alice), submit(alice)])
    old = {task.pk: task.version for task in tasks}
    seen = [queries.view(task.pk, alice.pk).document["status"] for task in tasks]
    assert seen == ["pending", "pending"]
    outcomes.timed_out_many(tasks)
    for task in tasks:
        # What a slow reader of the table saw before.
        assert not snapshots.write(task.pk, old[task.pk], b"{}", terminal=False)
        assert queries.view(task.pk, alice.pk).document["status"] == "timeout"


def test_damaged_snapshots_are_outdated_with_the_others(alice: Any, sleeper: Generator) -> None:
    tasks = fresh([submit(alice), submit(alice)])
    for task in tasks:
        queries.view(task.pk, alice.pk)
    (damaged,) = [key for key in client().keys("*") if str(tasks[0].pk).encode() in key]
    client().delete(damaged)
    client().set(damaged, "something else")
    outcomes.timed_out_many(tasks)
    for task in tasks:
        assert queries.view(task.pk, alice.pk).document["status"] == "timeout"


# --- the sweep -------------------------------------------------------------------------------


def late(tasks: Sequence[Task]) -> None:
    for task in tasks:
        shift(task, "give_up_at", -1e7)


def test_one_bad_task_does_not_keep_the_others(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BATCH", 2)
    tasks = [submit(alice) for _ in range(7)]
    late(tasks)
    bad = tasks[:3]
    for task in bad:
        shift(task, "created_at", A_DAY.total_seconds())  # it would have ended before it began
    report = Report()
    sweep.time_out_waiting(report, False)
    assert [task.state for task in fresh(tasks)] == ["pending"] * 3 + ["timeout"] * 4
    assert report.counts == {"waited too long": 4}
    assert sorted(report.troubles) == sorted(
        f"waited too long: task {task.pk}: IntegrityError" for task in bad
    )
    told = Event.objects.filter(kind=EventKind.TIMED_OUT.value)
    assert set(told.values_list("task_id", flat=True)) == {task.pk for task in tasks[3:]}
    assert wrong_heads() == []


def test_a_pass_ends_more_than_a_batch_and_a_dry_run_says_so(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BATCH", 2)
    late([submit(alice) for _ in range(5)])
    for dry_run, left in ((True, 5), (False, 0)):
        report = Report()
        sweep.time_out_waiting(report, dry_run)
        assert report.counts == {"waited too long": 5}
        assert Task.objects.filter(state="pending").count() == left
    report = Report()
    sweep.time_out_waiting(report, True)
    assert report.counts == {}


def test_a_generator_is_withdrawn_in_batches_and_waits_for_what_somebody_holds(
    alice: Any, bob: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(withdrawal, "BATCH", 2)
    elsewhere = submit(alice, generator=make_generator(name="other").name)
    tasks = [submit(owner) for owner in (alice, bob, alice, bob, alice)]
    ended: list[int] = []

    def withdraw() -> None:
        try:
            ended.append(withdrawal.withdraw(sleeper, "carol"))
        finally:
            connection.close()

    thread = threading.Thread(target=withdraw)
    with held(tasks[0], tasks[2]):
        thread.start()
        eventually(lambda: waits_for("transactionid"))
        states = [task.state for task in fresh(tasks)]
        assert states == ["pending", "failed", "pending", "pending", "pending"]
    thread.join(30)
    assert ended == [5]
    assert [task.state for task in fresh([*tasks, elsewhere])] == ["failed"] * 5 + ["pending"]
    said = {"code": "canceled", "by": "staff", "staff": "carol", "given_back": True}
    for task in tasks:
        line = Event.objects.get(task=task, kind=EventKind.CANCELED.value)
        assert line.data == said | {"reason": "generator withdrawn"}
    assert counts.wrong(quotas.day_of(database_now())) == []
    assert wrong_heads() == []


# --- beside anybody else ---------------------------------------------------------------------

ROUNDS = 6
EACH = 8


class Rush:
    """All that may happen to late tasks of two owners at once."""

    def __init__(self, owners: Sequence[Any]) -> None:
        self.owners = owners
        self.claims: list[claim.Claim] = []
        self.troubles: list[str] = []

    def begin(self) -> None:
        """Let tasks be late: some run, some waited, some wait again and have paid."""
        for owner in self.owners:
            for number in range(EACH):
                submit(owner, generator="other" if number % 2 else "sleeper")
        self.claims = [claimed() for _ in range(EACH)]
        for one in self.claims[::2]:
            outcomes.interrupted(one.attempt)
        self.claims = self.claims[1::2]
        Task.objects.filter(state="pending").update(give_up_at=Now())
        Task.objects.filter(state="running").update(deadline_at=Now())

    def sweeps(self) -> None:
        report = Report()
        sweep.time_out_waiting(report, False)
        sweep.time_out_running(report, False)
        self.troubles += report.troubles

    def cancels(self) -> None:
        for task in Task.objects.filter(state__in=("pending", "running")).order_by("-pk")[:EACH]:
            cancellation.cancel(task.pk, task.owner_id)

    def claims_and_fails(self) -> None:
        for _ in range(EACH):
            one = claim.claim_next("default", "by hand")
            if one is not None:
                outcomes.failed(one.attempt, ErrorCode.INTERNAL, "", retryable=False)

    def finishes(self) -> None:
        for one in self.claims:
            outcomes.succeeded(one.attempt, artifacts(one.task.pk))

    def submits(self) -> None:
        for owner in reversed(self.owners):
            for _ in range(3):
                submit(owner)


def test_two_sweeps_beside_everything_else(alice: Any, bob: Any) -> None:
    make_generator(max_running=1_000), make_generator(name="other", max_running=1_000)
    rush = Rush([alice, bob])
    for _ in range(ROUNDS):
        rush.begin()
        others = (rush.cancels, rush.claims_and_fails, rush.finishes, rush.submits)
        assert together(rush.sweeps, rush.sweeps, *others) == []
        Task.objects.filter(state="pending").update(give_up_at=Now())
        rush.sweeps()
        for attempt in Attempt.objects.select_related("task").filter(ended_at__isnull=True):
            outcomes.stopped(attempt)
    assert rush.troubles == []
    for task in Task.objects.prefetch_related("events"):
        told = [one.kind for one in task.events.all() if one.kind in ENDINGS]
        assert (task.terminal, len(told), task.paid_by) == (True, 1, None), task.pk
    assert Task.objects.filter(state="timeout").count() > ROUNDS
    assert counts.wrong(quotas.day_of(database_now())) == []
    assert wrong_heads() == []


def test_two_who_settle_the_same_tasks_give_back_once(alice: Any) -> None:
    make_generator(), make_generator(name="other")
    carol = make_user("carol")
    for owner in (alice, carol):
        for number in range(6):
            submit(owner, generator="other" if number % 2 else "sleeper")
    for _ in range(12):
        one = claimed()
        outcomes.stopped(one.attempt)
        Attempt.objects.filter(pk=one.attempt.pk).update(ended_at=F("started_at"))
    Task.objects.update(state="failed", error_code="internal", finished_at=Now(), deadline_at=None)
    paid = {task.pk: task.paid_by for task in Task.objects.all() if task.paid_by is not None}
    shares, tags = Task.objects.values_list("paid_by").annotate(Sum("share")), finish_tags()
    expected = {pk: tags[pk] - share for pk, share in shares.order_by()}
    settled: list[dict[UUID, float]] = []

    def settles(ids: Sequence[UUID]) -> None:
        settled.append(fairness.settle({pk: paid[pk] for pk in ids}))

    assert len(paid) == 12
    assert together(lambda: settles(list(paid)), lambda: settles(list(paid)[::-1])) == []
    assert sorted(len(one) for one in settled) == [0, 12]
    assert finish_tags() == pytest.approx(expected)


def finish_tags() -> dict[UUID, float]:
    return dict(Flow.objects.values_list("pk", "finish_tag"))
