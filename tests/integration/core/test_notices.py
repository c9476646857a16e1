"""What ended while its owner was away."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tasks_app.core import documents, notices
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Account, Task
from tests.conftest import make_generator
from tests.history import fill
from tests.integration.helpers import shift, submit

pytestmark = pytest.mark.django_db


def look(owner: Any, ago: float) -> None:
    Account.objects.filter(user=owner).update(seen_at=timezone.now() - timedelta(seconds=ago))


def test_nothing_is_news_before_the_first_look(alice: Any) -> None:
    fill(alice, 5, make_generator())
    assert notices.of(alice.pk).count == 0
    assert notices.of(alice.pk).asked_at is not None


def test_what_ended_since_the_last_look_is_news_to_its_owner_only(alice: Any, bob: Any) -> None:
    fill(alice, 5, make_generator(), gap=60)
    for user in (alice, bob):
        look(user, 150)
    assert notices.of(alice.pk).count == 3
    assert notices.of(bob.pk).count == 0


def test_a_look_clears_what_was_shown_in_milliseconds(alice: Any) -> None:
    fill(alice, 5, make_generator(), gap=60)
    look(alice, 1000)
    second = Task.objects.order_by("pk")[1]
    shown = documents.stamp(second.finished_at)
    assert shown is not None
    notices.looked_at(alice.pk, datetime.fromisoformat(shown))
    assert notices.of(alice.pk).count == 3


def test_a_look_never_goes_back_nor_ahead_of_now(alice: Any) -> None:
    fill(alice, 2, make_generator(), gap=60)
    notices.looked_at(alice.pk, timezone.now())
    notices.looked_at(alice.pk, timezone.now() - timedelta(days=1))
    assert notices.of(alice.pk).count == 0
    notices.looked_at(alice.pk, timezone.now() + timedelta(days=9_000))
    seen = notices.of(alice.pk).seen_at
    assert seen is not None
    assert seen <= timezone.now() + timedelta(seconds=5)


def test_counting_ends_at_the_most(
    alice: Any, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    fill(alice, 300, make_generator(), gap=1)
    look(alice, 10_000)
    with django_assert_max_num_queries(2):
        assert notices.of(alice.pk).count == notices.MOST


@pytest.mark.usefixtures("open_slots")
def test_what_timed_out_meanwhile_is_news(alice: Any) -> None:
    make_generator()
    look(alice, 1)
    task = submit(alice)
    shift(task, "give_up_at", -100_000)
    sweep()
    task.refresh_from_db()
    assert task.state == "timeout"
    assert notices.of(alice.pk).count == 1
