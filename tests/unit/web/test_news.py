"""The number of tasks that ended while their owner was away."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tasks_app.core import notices
from tasks_app.models import Account
from tests.conftest import make_generator
from tests.history import fill

pytestmark = pytest.mark.django_db


@pytest.fixture
def away(alice: Any) -> Any:
    """Return alice, who looked two and a half minutes ago; three tasks ended since."""
    fill(alice, 5, make_generator(), gap=60)
    Account.objects.filter(user=alice).update(seen_at=timezone.now() - timedelta(seconds=150))
    return alice


@pytest.mark.parametrize("path", ["/", "/gallery", "/keys", "/account", "/nothing-here"])
def test_every_page_says_how_many_are_news(visitor: Client, away: Any, path: str) -> None:
    text = visitor.get(path).content.decode()
    assert "<title>(3) " in text
    assert 'data-news="3"' in text


def test_without_news_the_title_is_plain(visitor: Client, alice: Any, client: Client) -> None:
    assert "<title>Studio" in visitor.get("/").content.decode()
    assert "<title>Log in" in client.get("/login").content.decode()


def test_asking_is_one_small_question_more_and_none_in_a_poll(
    visitor: Client, away: Any, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(2):
        notices.of(away.pk)
    with django_assert_num_queries(3):  # session, user, the tasks
        visitor.get("/v1/tasks?limit=1&status=pending")


def test_looking_clears_it(visitor: Client, away: Any) -> None:
    until = visitor.get("/").context["news"]["asked_at"]
    assert visitor.post("/seen", {"until": until}).status_code == 204
    assert "<title>Studio" in visitor.get("/").content.decode()


def test_bob_clears_only_what_is_his(client: Client, bob: Any, away: Any) -> None:
    client.force_login(bob)
    client.post("/seen", {"until": "2999-01-01T00:00:00Z"})
    assert notices.of(away.pk).count == 3


@pytest.mark.parametrize("until", ["", "now", "2026-01-01T00:00:00", "9" * 400])
def test_what_is_no_moment_is_refused(visitor: Client, away: Any, until: str) -> None:
    assert visitor.post("/seen", {"until": until}).status_code == 400
    assert notices.of(away.pk).count == 3


def test_moments_at_the_ends_of_the_calendar_do_no_harm(visitor: Client, away: Any) -> None:
    for until in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00"):
        assert visitor.post("/seen", {"until": until}).status_code in (204, 400)


def test_seen_takes_a_post_of_somebody(client: Client, visitor: Client) -> None:
    assert visitor.get("/seen").status_code == 405
    assert client.post("/seen").status_code == 302
