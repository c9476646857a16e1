"""Due times that are set together, and questions of a round: nobody waits for others."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from tasks_app.core.clock import database_now
from tasks_app.core.remote import polling, records
from tasks_app.core.remote.records import Later
from tasks_app.models import Attempt
from tests.integration.core.remote.conftest import Hand, make_remote
from tests.processes import eventually
from tests.upstreams import fake
from tests.upstreams.replicate import Replicate


def in_seconds(attempt: Attempt) -> float:
    due = Attempt.objects.values_list("next_poll_at", flat=True).get(pk=attempt.pk)
    assert due is not None
    return (due - database_now()).total_seconds()


def far_off(hand: Hand, number: int) -> list[Attempt]:
    """Submit, and take for a question: due a lease from now."""
    attempts = [hand.send(f"boat {n}") for n in range(number)]
    Attempt.objects.update(next_poll_at=database_now())
    records.take("default", number)
    return [Attempt.objects.get(pk=attempt.pk) for attempt in attempts]


def elsewhere(wishes: list[Later]) -> dict[UUID, float]:
    try:
        return records.ask_later(wishes)
    finally:
        connection.close()


def test_each_gets_its_own_time_and_progress(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    first, second, third = far_off(hand, 3)
    Attempt.objects.filter(pk=second.pk).update(
        progress=0.5, poll_failures=2, failing_since=database_now()
    )
    Attempt.objects.filter(pk=third.pk).update(polls=F("polls") + 1)
    told = records.ask_later(
        [Later(first, 900.0, 0.25), Later(second, 500.0, 0.1, answered=False), Later(third, 1.0)]
    )
    assert told == {first.pk: 0.25, second.pk: 0.5}, "it never goes back; others ask the third"
    assert 850 < in_seconds(first) < 901
    assert 450 < in_seconds(second) < 501
    second.refresh_from_db()
    assert second.poll_failures == 2
    records.ask_later([Later(second, 500.0), Later(first, 500.0)])
    second.refresh_from_db()
    assert (second.poll_failures, second.failing_since) == (0, None)


def test_a_row_that_is_held_delays_no_other(hand: Hand, upstream: Replicate) -> None:
    make_remote(upstream)
    held, free = far_off(hand, 2)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Attempt.objects.select_for_update().get(pk=held.pk)
            answer = pool.submit(elsewhere, [Later(held, 900.0), Later(free, 900.0)])
            eventually(lambda: in_seconds(free) > 850)
            assert not answer.done()
        assert answer.result(20) == {held.pk: 0.0, free.pk: 0.0}
    assert in_seconds(held) > 850


def test_a_crowded_generator_delays_no_other(
    hand: Hand, upstream: Replicate, settings: Any
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"remote_calls": 4}
    crowd, may_answer = Replicate(), threading.Event()

    def held(handler: Any, do: Any) -> None:
        assert may_answer.wait(30)
        fake.say(handler, do())

    crowd.faults["get"] = [held] * 2
    make_remote(crowd, "crowd")
    make_remote(upstream)
    slow = [hand.send(f"boat {n}", generator="crowd") for n in range(2)]
    other = hand.send()
    Attempt.objects.filter(pk__in=[one.pk for one in slow]).update(next_poll_at=Now())
    with ThreadPoolExecutor(1) as pool, fake.serving(crowd):
        try:
            one_round = pool.submit(round_elsewhere, hand)
            eventually(lambda: crowd.count("get") == 2, why="half of all room is taken")
            Attempt.objects.filter(pk=other.pk).update(next_poll_at=Now())
            assert one_round.result(20) == 3
            eventually(lambda: upstream.count("get") == 1)
        finally:
            may_answer.set()
        hand.land()


def round_elsewhere(hand: Hand) -> int:
    try:
        return polling.round_of("default", hand.engine)
    finally:
        connection.close()
