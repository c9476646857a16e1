"""Busy, broken and recovering upstreams: nobody is hammered, nobody fails for it."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db.models.functions import Now
from pytest_django import Settings

from tasks_app.core import claim, pressure
from tasks_app.core.pressure import Fact
from tasks_app.core.remote import polling, submitting
from tasks_app.maintenance import due
from tasks_app.maintenance.divert import to_fallbacks
from tasks_app.maintenance.report import Report
from tasks_app.models import Account, Attempt, Event, Generator, Pressure, Task
from tests.conftest import make_generator
from tests.integration.core.remote.conftest import Hand, make_remote, state
from tests.upstreams import fake
from tests.upstreams.replicate import Replicate


def start_all(hand: Hand) -> int:
    """Start whatever may start now, all of it at once; returns how many did."""
    Task.objects.filter(not_before__isnull=False).update(not_before=Now() - timedelta(seconds=1))
    due.release_due(Report(), False)
    started = 0
    while (found := claim.claim_next("default", "by hand")) is not None:
        submitting.begin(found, hand.engine)
        started += 1
    hand.land()
    return started


def finish_all(hand: Hand, upstream: Replicate) -> None:
    """Let everything that runs end well."""
    upstream.finish()
    Attempt.objects.filter(ended_at=None).update(next_poll_at=Now())
    polling.round_of("default", hand.engine)
    hand.land()


def unhold() -> None:
    Pressure.objects.update(hold_until=None)


def test_an_upstream_that_takes_four_at_once(hand: Hand, upstream: Replicate) -> None:
    """429 to more than four, while the generator's own limit is 20."""
    upstream.seconds, upstream.most = 600, 4
    make_remote(upstream, max_running=20, failure_budget=1)
    for number in range(180):
        hand.submit(f"boat {number}")
    limits, asked, refused = [], [], []
    for _ in range(36):
        start_all(hand)
        unhold()
        finish_all(hand, upstream)
        limits.append(Pressure.objects.get().limit)
        asked.append(upstream.count("create"))
        refused.append(asked[-1] - len(upstream.predictions))
    assert upstream.peak <= 4
    assert not Task.objects.filter(state="failed").exists()
    settled = limits[8:]
    assert all(limit is not None and 3 <= int(limit) <= 5 for limit in settled), limits
    share = (refused[-1] - refused[8]) / (asked[-1] - asked[8])
    assert asked[-1] - asked[8] > 90, "enough to speak of a share"
    assert share < 0.05, f"{share:.1%} are refused once it has settled"
    # It climbs back when the upstream does.
    upstream.most = None
    while Task.objects.filter(state="pending").exists():
        start_all(hand)
        finish_all(hand, upstream)
    limit = Pressure.objects.get().limit
    assert limit is None or limit > 5


def test_retry_after_holds_for_everybody(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    upstream.faults["create"] = [fake.status(429, Retry_After="120")]
    hand.send("first")
    hand.submit("second")
    assert claim.claim_next("default", "by hand") is None
    reading = next(iter(pressure.readings().values()))
    assert reading.closed and 110 < reading.seconds <= 120
    unhold()
    assert hand.claim().task.params["prompt"] == "second"


def test_a_circuit_opens_probes_and_closes(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream, failure_budget=50)
    upstream.faults["create"] = [fake.status(500)] * 11
    for number in range(12):
        hand.submit(f"boat {number}")
    start_all(hand)
    # Whoever was in flight when it opened still failed; the others were not sent.
    assert upstream.count("create") == 10 or upstream.count("create") == 11
    assert start_all(hand) == 0, "nobody starts while it is open"
    Pressure.objects.update(open_until=Now() - timedelta(seconds=1))
    upstream.faults["create"] = [fake.status(500)]
    before = upstream.count("create")
    start_all(hand)
    assert upstream.count("create") == before + 1, "one probe"
    row = Pressure.objects.get()
    assert (row.open_seconds, row.probe_at) == (60, None)
    Pressure.objects.update(open_until=Now() - timedelta(seconds=1))
    start_all(hand)
    assert Pressure.objects.get().open_until is None
    start_all(hand)
    assert not Task.objects.filter(state="pending").exists()
    assert not Task.objects.filter(state="failed").exists()


def test_a_probe_that_nobody_heard_of_is_made_again(hand: Hand, upstream: Replicate) -> None:
    generator = make_remote(upstream)
    Pressure.objects.create(generator=generator, open_until=Now(), open_seconds=30)
    assert pressure.may_submit(generator)
    assert not pressure.may_submit(generator)
    Pressure.objects.update(probe_at=Now() - timedelta(seconds=61))
    assert pressure.may_submit(generator)


def test_who_was_claimed_as_it_opened_is_not_sent(hand: Hand, upstream: Replicate) -> None:
    generator = make_remote(upstream, failure_budget=1)
    hand.submit()
    found = hand.claim()
    Pressure.objects.create(
        generator=generator, open_until=Now() + timedelta(seconds=30), open_seconds=30
    )
    submitting.begin(found, hand.engine)
    hand.land()
    assert state(found.attempt) == ("pending", "")
    assert upstream.count("create") == 0


def test_retries_are_spent(hand: Hand, upstream: Replicate) -> None:
    generator = make_remote(upstream, failure_budget=100)
    Pressure.objects.create(generator=generator, tokens=1.5)
    upstream.faults["create"] = [fake.status(500)] * 2
    hand.send("first")
    second = hand.send("second")
    waits = second.task.not_before
    assert waits is not None
    assert waits - Attempt.objects.get(pk=second.pk).started_at > timedelta(seconds=59)
    pressure.note(generator, Fact.TAKEN, second.started_at)
    assert round(Pressure.objects.get().tokens, 1) == 0.7


def shut(generator: Generator) -> None:
    Pressure.objects.update_or_create(
        generator=generator,
        defaults={"open_until": Now() + timedelta(seconds=60), "open_seconds": 30},
    )


def test_the_fallback_for_those_who_allow_it(hand: Hand, upstream: Replicate) -> None:
    near = make_generator("near")
    generator = make_remote(upstream, fallback=near)
    strict = hand.submit("strict")
    loose = hand.submit("loose")
    Task.objects.filter(pk=loose.pk).update(allow_degraded=True)
    odd = hand.submit("odd")
    Task.objects.filter(pk=odd.pk).update(
        allow_degraded=True, params={"prompt": "odd", "n": 99, "width": 64}
    )
    report = Report()
    to_fallbacks(report, False)
    assert report.counts["moved to a fallback"] == 0, "nothing is wrong with the upstream"
    shut(generator)
    to_fallbacks(report, True)
    assert Task.objects.filter(generator=near).count() == 0
    report = Report()
    to_fallbacks(report, False)
    assert report.counts["moved to a fallback"] == 1
    loose.refresh_from_db()
    assert (loose.generator_id, loose.degraded, loose.params["prompt"]) == (near.pk, True, "loose")
    assert "width" not in loose.params, "the fallback does not know it"
    for task in (strict, odd):  # one did not allow it, the other's parameters do not fit there
        task.refresh_from_db()
        assert (task.generator_id, task.degraded) == (generator.pk, False)
    said = Event.objects.filter(task=loose).order_by("at").values_list("data", flat=True)
    assert list(said)[-1]["from"] == "far"
    assert hand.claim().task.pk == loose.pk


def test_a_fallback_takes_no_more_than_the_plan_allows(hand: Hand, upstream: Replicate) -> None:
    near = make_generator("near")
    generator = make_remote(upstream, fallback=near)
    task = hand.submit("boat")
    Task.objects.update(allow_degraded=True, params={"prompt": "boat", "n": 2})
    account = Account.objects.get(user_id=task.owner_id)
    shut(generator)

    def moves() -> bool:
        to_fallbacks(Report(), False)
        return Task.objects.filter(generator=near).exists()

    account.generators.set([generator])
    assert not moves(), "the owner may not choose it"
    account.generators.add(near)
    Account.objects.filter(pk=account.pk).update(max_n=1)
    assert not moves(), "nor so many pictures"
    Account.objects.filter(pk=account.pk).update(max_n=2)
    assert moves()


def test_a_backlog_uses_the_fallback_too(
    hand: Hand, upstream: Replicate, settings: Settings
) -> None:
    near = make_generator("near")
    make_remote(upstream, fallback=near)
    for number in range(3):
        hand.submit(f"boat {number}")
    Task.objects.update(allow_degraded=True)
    settings.DARKROOM = settings.DARKROOM | {"backlog_alert": 3}
    to_fallbacks(Report(), False)
    assert not Task.objects.filter(generator=near).exists()
    settings.DARKROOM = settings.DARKROOM | {"backlog_alert": 2}
    to_fallbacks(Report(), False)
    assert Task.objects.filter(generator=near, degraded=True).count() == 3


def test_what_is_seen_of_it(hand: Hand, upstream: Replicate, client: Any) -> None:
    generator = make_remote(upstream, max_running=20)
    Pressure.objects.create(
        generator=generator, limit=4.7, open_until=Now() + timedelta(seconds=60)
    )
    scraped = client.get("/metrics").content.decode()
    assert 'darkroom_upstream_limit{generator="far"} 4.0' in scraped
    assert 'darkroom_upstream_circuit{generator="far"} 1.0' in scraped
    assert 'darkroom_upstream_shut{generator="far"}' in scraped
    client.force_login(get_user_model().objects.create_superuser("boss", password="x"))
    page = client.get("/admin/tasks_app/generator/").content.decode()
    assert "shut off, tried again in" in page


@pytest.mark.parametrize("code", [429, 503])
def test_being_busy_spends_no_budget_for_ever(hand: Hand, upstream: Replicate, code: int) -> None:
    make_remote(upstream, failure_budget=1)
    hand.submit()
    for _ in range(5):
        upstream.faults["create"] = [fake.status(code)]
        start_all(hand)
        unhold()
    task = Task.objects.get()
    assert (task.state, task.failures, task.attempt_number) == ("pending", 0, 5)
