"""Limits of submissions: what counts, what is given back, what a refusal says and spends."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction

from tasks_app.core import (
    accounts,
    cancellation,
    offers,
    outcomes,
    quotas,
    staff,
    submission,
    withdrawal,
)
from tasks_app.core.errors import Invalid, TooMany
from tasks_app.core.submission import Wish
from tasks_app.lifecycle import ErrorCode, Priority
from tasks_app.maintenance import due
from tasks_app.maintenance.report import Report
from tasks_app.models import Account, DayUse, Event, Generator, Plan, Task
from tests.conftest import make_generator
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_slots")]


def limit(user: Any, **values: Any) -> None:
    Account.objects.filter(user=user).update(**values)


def counts(user: Any) -> list[tuple[date, int]]:
    return list(DayUse.objects.filter(owner=user).order_by("day").values_list("day", "number"))


def today(user: Any) -> int:
    (found,) = counts(user)
    return found[1]


def refused(user: Any, **fields: Any) -> TooMany:
    with pytest.raises(TooMany) as found, transaction.atomic():
        submit(user, **fields)
    return found.value


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[datetime]]:
    """Let submissions happen at a time that the test sets."""
    moment = [datetime(2026, 3, 31, 23, 59, 59, 500_000, UTC)]
    monkeypatch.setattr(submission, "database_now", lambda: moment[0])
    yield moment


# --- counting ------------------------------------------------------------------------------


def test_days_and_months_begin_at_midnight_utc(
    alice: Any, sleeper: Generator, clock: list[datetime]
) -> None:
    limit(alice, max_day=2, max_month=3)
    submit(alice)
    submit(alice)
    late = refused(alice)
    assert (late.code, late.limit.used, late.limit.limit) == ("day_limit", 2, 2)
    assert late.retry_after == 0.5
    assert late.limit.resets_at == datetime(2026, 4, 1, tzinfo=UTC)
    clock[0] += timedelta(seconds=0.5)
    submit(alice)
    submit(alice)
    assert counts(alice) == [(date(2026, 3, 31), 2), (date(2026, 4, 1), 2)]
    clock[0] += timedelta(days=1)
    submit(alice)
    full = refused(alice)
    assert (full.code, full.limit.used, full.limit.limit) == ("month_limit", 3, 3)
    assert full.limit.resets_at == datetime(2026, 5, 1, tzinfo=UTC)
    assert "2026-05-01 00:00 UTC" in full.detail
    limit(alice, max_month=None)
    submit(alice)


@pytest.mark.parametrize(
    ("now", "ends"),
    [
        ("2026-12-31T23:59:59+00:00", "2027-01-01T00:00:00+00:00"),
        ("2028-02-01T00:00:00+00:00", "2028-03-01T00:00:00+00:00"),
        ("2026-02-28T12:00:00-11:00", "2026-03-01T00:00:00+00:00"),
        ("2026-03-01T08:00:00+09:00", "2026-03-01T00:00:00+00:00"),
    ],
)
def test_months_end_where_the_calendar_says(now: str, ends: str) -> None:
    assert quotas.month_ends(datetime.fromisoformat(now)) == datetime.fromisoformat(ends)


def test_counts_of_many_are_read_at_once(
    alice: Any, bob: Any, sleeper: Generator, django_assert_num_queries: Any
) -> None:
    submit(alice)
    submit(alice)
    now = datetime.now(UTC)
    DayUse.objects.create(owner=alice, day="2020-01-01", number=9)
    with django_assert_num_queries(1):
        found = quotas.counted_of([alice.pk, bob.pk], now)
    assert (found[alice.pk].today, found[alice.pk].month) == (2, 2)
    assert (found[bob.pk].today, found[bob.pk].month) == (0, 0)


# --- what spends nothing -------------------------------------------------------------------


def test_replays_and_refusals_count_nothing(alice: Any, sleeper: Generator) -> None:
    limit(alice, max_day=5, max_month=9, submit_interval=100.0, submit_burst=2)
    first = Wish("sleeper", {"prompt": "x"}, idempotency_key="k")
    submission.submit(alice, first)
    spent = Account.objects.get(user=alice).submit_tat
    for _ in range(3):
        assert submission.submit(alice, first).reused
    for wrong in (
        {"generator": "nope"},
        {"priority": Priority.HIGH},
        {"idempotency_key": "k", "priority": Priority.LOW},
    ):
        limit(alice, max_priority="normal")
        with pytest.raises(Invalid):
            submit(alice, **wrong)
    assert today(alice) == 1
    assert Account.objects.get(user=alice).submit_tat == spent
    submit(alice)
    spent = Account.objects.get(user=alice).submit_tat
    assert refused(alice).code == "submit_rate"
    limit(alice, max_open=2)
    assert refused(alice).code == "too_many_open_tasks"
    limit(alice, max_day=2)
    assert refused(alice, idempotency_key="new").code == "day_limit"
    assert submission.submit(alice, first).reused
    assert today(alice) == 2 == Task.objects.count()
    assert Account.objects.get(user=alice).submit_tat == spent


def test_of_several_limits_the_slowest_to_come_back_is_named(
    alice: Any, sleeper: Generator
) -> None:
    limit(alice, max_open=1, max_day=1, max_month=1, submit_interval=10.0, submit_burst=1)
    submit(alice)
    for code, column in (
        ("month_limit", "max_month"),
        ("day_limit", "max_day"),
        ("too_many_open_tasks", "max_open"),
        ("submit_rate", "submit_interval"),
    ):
        found = refused(alice)
        assert found.code == code
        limit(alice, **{column: 0.0 if column == "submit_interval" else 1_000})
    submit(alice)


# --- what is given back --------------------------------------------------------------------


def test_what_was_delivered_counts(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    claim = claimed()
    assert outcomes.succeeded(claim.attempt, artifacts(claim.task.pk))
    assert today(alice) == 1


ENDINGS: list[tuple[ErrorCode, int]] = [
    (ErrorCode.INTERNAL, 0),
    (ErrorCode.UPSTREAM_ERROR, 0),
    (ErrorCode.UPSTREAM_UNREACHABLE, 0),
    (ErrorCode.OUTCOME_UNKNOWN, 0),
    (ErrorCode.RESULT_UNUSABLE, 0),
    (ErrorCode.WORKER_LOST, 0),
    (ErrorCode.INVALID_PARAMS, 1),
    (ErrorCode.CONTENT_REJECTED, 1),
    (ErrorCode.UPSTREAM_REJECTED, 1),
]


@pytest.mark.parametrize(("code", "left"), ENDINGS)
def test_what_failed_counts_only_if_the_request_was_why(
    alice: Any, sleeper: Generator, code: ErrorCode, left: int
) -> None:
    task = submit(alice)
    claim = claimed()
    assert outcomes.failed(claim.attempt, code, "", retryable=False)
    assert not outcomes.failed(claim.attempt, code, "", retryable=False)
    assert today(alice) == left
    told = Event.objects.get(task=task, kind="failed").data
    assert told.get("given_back", False) is (left == 0)


def test_an_attempt_that_is_tried_again_gives_nothing_back(alice: Any) -> None:
    make_generator(failure_budget=2)
    submit(alice)
    for left in (1, 0):
        Task.objects.filter(not_before__isnull=False).update(not_before=datetime.now(UTC))
        due.release_due(Report(), False)
        assert outcomes.failed(claimed().attempt, ErrorCode.INTERNAL, "", retryable=True)
        assert today(alice) == left


def test_timeouts_give_back(alice: Any, sleeper: Generator) -> None:
    waiting, running = submit(alice), submit(alice)
    outcomes.timed_out(Task.objects.get(pk=waiting.pk))
    claimed()
    outcomes.timed_out(Task.objects.get(pk=running.pk))
    assert today(alice) == 0


def test_a_cancel_gives_back_only_what_had_not_started_or_was_not_the_owners_wish(
    alice: Any, sleeper: Generator
) -> None:
    pending, _ = submit(alice), submit(alice)
    assert cancellation.cancel(pending.pk, alice.pk)
    assert not cancellation.cancel(pending.pk, alice.pk)
    assert today(alice) == 1
    withdrawal.withdraw(sleeper, "carol")
    assert today(alice) == 0
    sleeper.enabled = True
    sleeper.save()
    running, by_staff = submit(alice), submit(alice)
    claimed(), claimed()
    assert cancellation.cancel(running.pk, alice.pk)
    assert today(alice) == 2
    assert staff.cancel(by_staff.pk, "carol")
    assert today(alice) == 1


def test_what_is_given_back_goes_to_its_own_day(
    alice: Any, sleeper: Generator, clock: list[datetime]
) -> None:
    old = submit(alice)
    clock[0] += timedelta(seconds=1)
    submit(alice)
    assert cancellation.cancel(old.pk, alice.pk)
    assert counts(alice) == [(date(2026, 3, 31), 0), (date(2026, 4, 1), 1)]


def test_a_count_that_is_missing_or_zero_stays(alice: Any, sleeper: Generator) -> None:
    """As of tasks that were submitted before there were counts."""
    for number in (None, 0):
        task = submit(alice)
        rows = DayUse.objects.filter(owner=alice)
        rows.delete() if number is None else rows.update(number=number)
        assert cancellation.cancel(task.pk, alice.pk)
    assert today(alice) == 0


# --- what a plan allows to ask for ---------------------------------------------------------


@pytest.fixture
def sketch(db: None) -> Generator:
    return Generator.objects.create(name="sketch", title="Sketch", adapter="sketch")


def errors(user: Any, params: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as found:
        submission.submit(user, Wish("sketch", {"prompt": "x", **(params or {})}, **fields))
    assert {error.code for error in found.value.errors} == {"above_plan"}
    return {error.pointer: error.detail for error in found.value.errors}


def test_what_is_above_the_plan_is_refused_by_name(alice: Any, sketch: Generator) -> None:
    limit(alice, max_n=2, max_side=768, max_priority="normal", max_wait=600)
    found = errors(
        alice,
        {"n": 3, "width": 832, "height": 1024},
        priority=Priority.HIGH,
        max_wait=601,
    )
    assert found == {
        "/params/n": "Your plan allows at most 2 here.",
        "/params/width": "Your plan allows at most 768 pixels here.",
        "/params/height": "Your plan allows at most 768 pixels here.",
        "/priority": "Your plan allows these priorities: low, normal.",
        "/max_wait": "Your plan allows at most 600 seconds.",
    }
    assert not DayUse.objects.exists()


def test_defaults_fit_the_plan_and_are_what_the_schema_says(alice: Any, sketch: Generator) -> None:
    limit(alice, max_n=1, max_side=700, max_wait=60)
    (offer,) = offers.generators(alice)
    spec = offer["params_schema"]["properties"]
    (whole,) = offers.generators()
    step = whole["params_schema"]["properties"]["width"].get("multipleOf", 1)
    assert (spec["n"]["maximum"], spec["width"]["maximum"]) == (1, 700)
    assert spec["width"]["default"] == 700 // step * step
    assert whole["params_schema"]["properties"]["width"]["maximum"] > 700
    task = Task.objects.get(pk=submission.submit(alice, Wish("sketch", {"prompt": "x"})).task_id)
    assert (task.params["width"], task.params["height"]) == (spec["width"]["default"],) * 2
    assert task.max_wait == 60


def test_who_names_no_priority_gets_the_highest_usual_one(alice: Any, sketch: Generator) -> None:
    wish = Wish("sketch", {"prompt": "x"})
    for highest, given in (("high", "normal"), ("normal", "normal"), ("low", "low")):
        limit(alice, max_priority=highest)
        assert Task.objects.get(pk=submission.submit(alice, wish).task_id).priority == given


def test_choices_are_narrowed_too(alice: Any) -> None:
    schema = {
        "type": "object",
        "required": ["prompt"],
        "properties": {
            "prompt": {"type": "string"},
            "width": {"type": "integer", "enum": [512, 768, 1024], "default": 1024},
            "n": {"type": "integer", "minimum": 4, "maximum": 8, "default": 4},
        },
    }
    settings = {"callable": "tests.artists:sleeper", "parameters": schema}
    make_generator("chooser", settings=settings)
    limit(alice, max_side=800, max_n=2)
    (offer,) = offers.generators(alice)
    spec = offer["params_schema"]["properties"]
    assert (spec["width"]["enum"], spec["width"]["default"]) == ([512, 768], 768)
    assert spec["n"]["maximum"] == 8  # none of it is allowed: it is refused with a sentence
    with pytest.raises(Invalid) as found:
        submission.submit(alice, Wish("chooser", {"prompt": "x"}))
    assert [error.pointer for error in found.value.errors] == ["/params/n"]


def test_a_retry_is_judged_by_the_plan_of_now(alice: Any, sketch: Generator) -> None:
    wish = Wish("sketch", {"prompt": "x"}, priority=Priority.HIGH, max_wait=3_000)
    task = Task.objects.get(pk=submission.submit(alice, wish).task_id)
    cancellation.cancel(task.pk, alice.pk)
    task.refresh_from_db()
    limit(alice, max_wait=60)
    again = submission.resubmit(alice, task, "r", "")
    assert Task.objects.get(pk=again.task_id).max_wait == 60
    limit(alice, max_wait=30)
    assert submission.resubmit(alice, task, "r", "").reused
    limit(alice, max_priority="normal")
    with pytest.raises(Invalid, match="priorities: low, normal"):
        submission.resubmit(alice, task, None, "")
    limit(alice, max_priority=None, max_day=1)
    assert today(alice) == 1
    with pytest.raises(TooMany):
        submission.resubmit(alice, task, None, "")


def test_a_retry_of_what_named_no_priority_has_the_plans(alice: Any, sketch: Generator) -> None:
    task = Task.objects.get(pk=submission.submit(alice, Wish("sketch", {"prompt": "x"})).task_id)
    assert task.priority == Priority.NORMAL
    cancellation.cancel(task.pk, alice.pk)
    task.refresh_from_db()
    limit(alice, max_priority="low")
    again = submission.resubmit(alice, task, None, "")
    assert Task.objects.get(pk=again.task_id).priority == Priority.LOW


def test_generators_that_are_not_allowed_do_not_exist(
    alice: Any, bob: Any, sleeper: Generator, sketch: Generator
) -> None:
    def offered(user: Any) -> list[str]:
        return [one["name"] for one in offers.generators(user)]

    plan = Plan.objects.get(is_default=True)
    plan.generators.add(sketch)
    assert offered(alice) == ["sketch"]
    with pytest.raises(Invalid) as found:
        submit(alice)
    with pytest.raises(Invalid) as unknown:
        submit(alice, "nope")
    assert found.value.errors == unknown.value.errors
    alice.account.generators.add(sleeper)
    assert (offered(alice), offered(bob)) == (["sleeper"], ["sketch"])
    submit(alice)
    sleeper.enabled = False
    sleeper.save()
    assert offered(alice) == []
    plan.generators.clear()
    assert offered(bob) == ["sketch"]


# --- what else plans say -------------------------------------------------------------------


def test_results_are_kept_as_long_as_the_plan_says(alice: Any, sleeper: Generator) -> None:
    for own, of_plan, days in ((None, None, 7.0), (None, 3.0, 3.0), (0.5, 3.0, 0.5)):
        limit(alice, result_days=own)
        Plan.objects.update(result_days=of_plan)
        task = submit(alice)
        claim = claimed()
        outcomes.succeeded(claim.attempt, artifacts(task.pk))
        task.refresh_from_db()
        assert task.result_expires_at is not None and task.finished_at is not None
        kept = task.result_expires_at - task.finished_at
        assert kept == timedelta(days=days)


def test_lowering_a_limit_ends_nothing_that_runs(alice: Any, sleeper: Generator) -> None:
    submit(alice), submit(alice)
    claimed(), claimed()
    limit(alice, max_open=1, max_running=1, max_day=1, max_month=1, max_priority="low")
    assert list(Task.objects.values_list("state", flat=True)) == ["running", "running"]
    found = refused(alice)
    assert (found.limit.name, found.limit.used, found.limit.limit) == ("month", 2, 1)
    limit(alice, max_day=None, max_month=None)
    Plan.objects.update(max_priority=None)
    found = refused(alice)
    assert (found.limit.name, found.limit.used, found.limit.remaining) == ("open", 2, 0)


def test_every_limit_comes_from_the_account_or_else_the_plan(alice: Any) -> None:
    user = get_user_model().objects.create(username="new")
    account = accounts.account_of(user)
    plan: dict[str, Any] = {
        "max_open": 1,
        "max_running": 2,
        "submit_interval": 3.0,
        "submit_burst": 4,
        "weight": 5.0,
        "max_day": 6,
        "max_month": 7,
        "max_priority": "low",
        "max_n": 8,
        "max_side": 9,
        "max_wait": 10.0,
        "result_days": 11.0,
    }
    assert set(plan) == set(accounts.OWN)
    Plan.objects.filter(pk=account.plan_id).update(**plan)
    own: dict[str, Any] = {}
    for column, value in plan.items():
        found = accounts.limits_of_owner(user.pk)
        assert {name: getattr(found, name) for name in plan} == plan | own
        own[column] = "normal" if column == "max_priority" else value + 1
        Account.objects.filter(pk=user.pk).update(**{column: own[column]})
    found = accounts.limits_of_owner(user.pk)
    assert {name: getattr(found, name) for name in plan} == own
