"""The gallery: what an address asks for, and how much it costs."""

from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tasks_app.core import listing, queries, submission
from tasks_app.core.submission import Wish
from tasks_app.lifecycle import ErrorCode, State
from tasks_app.models import Task
from tasks_app.web import gallery
from tests.conftest import make_generator
from tests.history import fill
from tests.unit.web.pages import Page

pytestmark = pytest.mark.django_db


def shown(browser: Client, query: str = "") -> dict[str, Any]:
    response = browser.get(f"/gallery{query}")
    assert response.status_code == 200
    found: dict[str, Any] = Page(response.content.decode()).data["data"]["gallery"]
    return found


def prompts(found: dict[str, Any]) -> list[str]:
    return [task["params"]["prompt"] for task in found["items"]]


def test_an_address_is_read_and_written_back() -> None:
    before = uuid4()
    query = {
        "q": "  red   boat ",
        "state": "failed",
        "generator": "sketch",
        "from": "2026-03-01",
        "to": "2026-03-02",
        "zone": "Asia/Shanghai",
        "before": str(before),
    }
    wanted = gallery.read(query)
    without_place = {name: value for name, value in query.items() if name != "before"}
    assert wanted.query() == without_place | {"q": "red boat"}
    asked = wanted.filter(ZoneInfo(wanted.zone))
    assert asked.states == (State.FAILED,)
    assert asked.before == before
    assert asked.created_after == datetime(2026, 2, 28, 16, tzinfo=UTC)
    assert asked.created_before == datetime(2026, 3, 2, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    "query",
    [
        {"state": "lost"},
        {"from": "yesterday", "to": "2026-02-30"},
        {"from": "0001-01-01", "to": "9999-12-31"},
        {"zone": "../../etc/passwd"},
        {"before": "x"},
        {"q": "\x00", "generator": "\x00"},
    ],
)
def test_nonsense_is_not_asked_for(query: dict[str, str], visitor: Client) -> None:
    assert gallery.read(query) == gallery.Wanted()
    refused = any("\x00" in text for text in query.values())  # before it gets here
    assert visitor.get("/gallery", query).status_code == (400 if refused else 200)


def test_a_day_is_a_day_where_the_reader_lives() -> None:
    wanted = gallery.Wanted(first=date(2026, 3, 29), last=date(2026, 3, 29))
    asked = wanted.filter(ZoneInfo("Europe/Berlin"))
    assert asked.created_after is not None
    assert asked.created_before is not None
    assert (
        asked.created_before - asked.created_after
    ).total_seconds() == 23 * 3600  # summer begins


def test_pages_follow_each_other_by_plain_links(visitor: Client, alice: Any) -> None:
    fill(alice, gallery.PAGE + 5, make_generator())
    response = visitor.get("/gallery?state=canceled")
    first = Page(response.content.decode()).data["data"]["gallery"]
    link = response.context["more"]
    assert f'href="/gallery{link}"'.replace("&", "&amp;") in response.content.decode()
    second = shown(visitor, link)
    assert len(first["items"]) == gallery.PAGE
    assert len(second["items"]) == 5
    assert not set(prompts(first)) & set(prompts(second))
    assert second["next_cursor"] is None


def test_words_are_searched_and_given_to_the_script_for_more(visitor: Client, alice: Any) -> None:
    fill(alice, 8, make_generator())
    found = shown(visitor, "?q=%E9%9C%93%E8%99%B9")
    assert prompts(found) == ["雨夜的城市，霓虹灯 5", "雨夜的城市，霓虹灯 1"]
    rest = visitor.get(f"/v1/tasks?{found['query']}&limit=1").json()
    assert [task["params"]["prompt"] for task in rest["items"]] == ["雨夜的城市，霓虹灯 5"]


def test_a_search_that_has_not_come_to_the_end_says_how_far_it_went(
    visitor: Client, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WINDOW", 4)
    fill(alice, 8, make_generator())
    found = shown(visitor, "?q=7")
    assert prompts(found) == ["墨色山水 with mist 7"]
    assert found["searched_to"] is not None
    assert found["next_cursor"] is not None
    assert shown(visitor)["searched_to"] is None


def test_canceled_and_failed_are_told_apart(visitor: Client, alice: Any) -> None:
    """Also on the pages that the script asks the API for."""
    make_generator()
    names = ["canceled 1", "failed 1", "canceled 2", "failed 2"]
    for name in names:
        task = submission.submit(alice, Wish("sleeper", {"prompt": name})).task_id
        code = ErrorCode.CANCELED if name.startswith("c") else ErrorCode.INTERNAL
        Task.objects.filter(pk=task).update(
            state=State.FAILED, error_code=code, finished_at=Now(), give_up_at=None
        )
        queries.refresh(task)
    for state in ("canceled", "failed"):
        found = shown(visitor, f"?state={state}")
        assert prompts(found) == [f"{state} 2", f"{state} 1"]
        assert found["narrowed"]
        more = visitor.get(f"/v1/tasks?{found['query']}&limit=1").json()
        assert prompts(more) == [f"{state} 2"]
        rest = visitor.get(f"/v1/tasks?{found['query']}&cursor={more['next_cursor']}").json()
        assert prompts(rest) == [f"{state} 1"]


def test_days_that_are_asked_for_reach_the_script_as_moments(visitor: Client) -> None:
    found = shown(visitor, "?from=2026-01-01&to=2026-01-01&zone=Asia/Tokyo")
    assert "created_after=2025-12-31T15%3A00%3A00.000Z" in found["query"]
    assert "created_before=2026-01-01T15%3A00%3A00.000Z" in found["query"]
    assert visitor.get(f"/v1/tasks?{found['query']}").status_code == 200


def test_a_generator_that_is_gone_stays_chosen(visitor: Client) -> None:
    text = visitor.get("/gallery?generator=old-one").content.decode()
    assert '<option value="old-one" selected>' in text


def test_bob_finds_nothing_of_alice(client: Client, bob: Any, alice: Any) -> None:
    fill(alice, 3, make_generator())
    client.force_login(bob)
    assert shown(client)["items"] == []
    assert shown(client, "?q=dawn")["items"] == []


def test_the_gallery_needs_a_login(client: Client) -> None:
    assert client.get("/gallery?q=x")["Location"] == "/login?next=/gallery%3Fq%3Dx"


@pytest.mark.parametrize(
    "query", ["", "?q=nowhere", "?state=failed&generator=sleeper", "?state=canceled"]
)
def test_ten_thousand_tasks_are_no_more_questions_than_a_page(
    visitor: Client, alice: Any, query: str
) -> None:
    generator = make_generator()
    fill(alice, gallery.PAGE + 1, generator)
    visitor.get(f"/gallery{query}")
    with CaptureQueriesContext(connection) as few:
        shown(visitor, query)
    fill(alice, 10_000, generator, gap=61)
    with CaptureQueriesContext(connection) as many:
        shown(visitor, query)
    assert len(many) <= 12
    assert len(many) <= len(few) + 2  # the pictures of a page that was answered from snapshots
