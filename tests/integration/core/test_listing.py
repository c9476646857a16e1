"""Pages of an owner's tasks, whatever is asked of them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tasks_app.core import listing
from tasks_app.core.listing import Filter
from tasks_app.lifecycle import State
from tasks_app.models import Task
from tests.conftest import make_generator
from tests.history import fill

pytestmark = pytest.mark.django_db


def prompts(owner: Any, **wanted: Any) -> list[str]:
    found, _ = listing.page(owner.pk, Filter(**wanted))
    return [view.document["params"]["prompt"] for view in found]


def all_of(owner: Any, **wanted: Any) -> list[str]:
    """Follow the cursors to the end."""
    seen: list[str] = []
    before: UUID | None = None
    for _ in range(100):
        found, before = listing.page(owner.pk, Filter(before=before, **wanted))
        seen += [view.document["params"]["prompt"] for view in found]
        if before is None:
            return seen
    raise AssertionError("the pages do not end")


def test_words_are_found_in_any_case_and_order_and_within_chinese_sentences(alice: Any) -> None:
    fill(alice, 8, make_generator())
    assert prompts(alice, text="BOAT red") == ["a red boat at dawn 8", "a red boat at dawn 4"]
    assert prompts(alice, text="霓虹") == ["雨夜的城市，霓虹灯 5", "雨夜的城市，霓虹灯 1"]
    assert prompts(alice, text="山水 Mist 7") == ["墨色山水 with mist 7"]
    assert prompts(alice, text="boat mist") == []


@pytest.mark.parametrize("text", ["%", "_", "\\", "d_wn", "re%boat", "' OR '1'='1"])
def test_signs_of_patterns_are_letters_like_others(alice: Any, text: str) -> None:
    fill(alice, 4, make_generator())
    assert prompts(alice, text=text) == []


def test_a_search_goes_a_window_at_a_time_and_misses_nothing(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WINDOW", 10)
    fill(alice, 45, make_generator())
    found, cursor = listing.page(alice.pk, Filter(text="dawn 4"))
    assert [view.document["params"]["prompt"] for view in found] == [
        "a red boat at dawn 44",
        "a red boat at dawn 40",
    ]
    assert cursor is not None
    assert all_of(alice, text="dawn 4") == [f"a red boat at dawn {n}" for n in (44, 40, 24, 4)]
    assert len(all_of(alice, text="a", limit=3)) == len(all_of(alice, text="a"))
    assert all_of(alice, text="nowhere") == []
    assert all_of(alice, generator="another") == []
    assert len(all_of(alice, generator="sleeper", limit=7)) == 45


def test_a_span_of_time_is_half_open(alice: Any) -> None:
    fill(alice, 5, make_generator(), gap=3600)
    made = list(Task.objects.order_by("pk").values_list("created_at", flat=True))
    found = prompts(alice, created_after=made[1], created_before=made[3])
    assert [text.split()[-1] for text in found] == ["3", "2"]


def test_a_span_of_time_forgives_clocks_that_are_wrong(alice: Any) -> None:
    """Ids come from the clocks of web hosts, times from the database's."""
    fill(alice, 3, make_generator(), gap=1)
    Task.objects.update(created_at=timezone.now() - timedelta(hours=20))
    hours = timedelta(hours=1)
    moment = timezone.now() - timedelta(hours=20)
    assert len(prompts(alice, created_after=moment - hours, created_before=moment + hours)) == 3
    assert prompts(alice, created_after=moment + hours) == []


def test_the_ends_of_the_calendar_are_times_too(alice: Any) -> None:
    fill(alice, 2, make_generator())
    first, last = (end.replace(tzinfo=UTC) for end in (datetime.min, datetime.max))
    assert len(prompts(alice, created_after=first, created_before=last)) == 2


def test_bob_finds_nothing_of_alice(alice: Any, bob: Any) -> None:
    fill(alice, 3, make_generator())
    newest = Task.objects.latest("pk").pk
    assert prompts(bob, text="dawn") == []
    assert listing.neighbours(newest, bob.pk) == (None, None)


def test_neighbours_are_the_next_newer_and_older_of_the_same_owner(alice: Any, bob: Any) -> None:
    generator = make_generator()
    fill(alice, 3, generator)
    fill(bob, 3, generator, gap=61)
    first, second, third = (
        Task.objects.filter(owner=alice).order_by("pk").values_list("pk", flat=True)
    )
    assert listing.neighbours(second, alice.pk) == (third, first)
    assert listing.neighbours(first, alice.pk) == (second, None)
    assert listing.neighbours(third, alice.pk) == (None, second)


def test_an_id_tells_when_it_was_made(alice: Any) -> None:
    fill(alice, 1, make_generator())
    task = Task.objects.get()
    assert abs(listing.moment_of(task.pk) - task.created_at) < timedelta(milliseconds=2)


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(limit=24),
        Filter(limit=24, states=(State.FAILED,)),
        Filter(limit=24, generator="sleeper"),
        Filter(limit=24, text="nowhere"),
        Filter(limit=24, created_after=timezone.now() - timedelta(days=9)),
    ],
)
def test_ten_thousand_tasks_are_no_more_questions_than_ten(alice: Any, wanted: Filter) -> None:
    generator = make_generator()
    fill(alice, 10, generator)
    with CaptureQueriesContext(
        connection,
    ) as few:
        listing.page(alice.pk, wanted)
    Task.objects.all().delete()
    fill(alice, 10_000, generator)
    with CaptureQueriesContext(connection) as many:
        listing.page(alice.pk, wanted)
    assert len(many) <= len(few) + 3
