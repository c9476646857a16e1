"""What a read adds to a task's document."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core.presence import MAX_HINT, MIN_HINT, presence
from tasks_app.gates.figures import Figures, GeneratorFigures

NOW = 1_800_000_000.0
GENERATOR = "g"


def body(status: str = "pending", **changes: Any) -> dict[str, Any]:
    document = {
        "status": status,
        "progress": 100 if status == "success" else 0,
        "attempt": 1,
        "started_at": None,
    }
    if status == "running":
        document["started_at"] = "2027-01-15T07:59:50.000Z"  # ten seconds before NOW
    given: dict[str, Any] = {"generator_id": GENERATOR, "tag": 5.0, "held_until": None, "owner": 7}
    return {**given, **changes, "document": document}


def figures(**changes: Any) -> Figures:
    known = GeneratorFigures(used=0, limit=5, paused=False, seconds=20.0)
    values: dict[str, Any] = {
        "pool": "default",
        "pending": 3,
        "workers": 2,
        "limit": 20,
        "tags": [(1.0, 0), (5.0, 1), (9.0, 2)],
        "generators": {GENERATOR: known},
    }
    return Figures(**{**values, **changes})


def test_a_terminal_task_has_nothing_to_wait_for() -> None:
    found = presence(body("success"), None, figures(), NOW)
    assert (found.progress, found.retry_after, found.waiting_for) == (100, None, None)


def test_a_running_task_tells_how_long_it_will_take() -> None:
    assert presence(body("running"), 50, figures(), NOW).eta == 10
    assert presence(body("running"), None, figures(), NOW).eta == 10  # 20 usual, 10 gone
    assert presence(body("running"), None, None, NOW).eta is None


def test_a_running_task_is_never_shown_as_complete() -> None:
    assert presence(body("running"), 100, figures(), NOW).progress == 99


@pytest.mark.parametrize(
    ("state", "published", "reason"),
    [
        ({}, {}, "slots"),
        ({}, {"full_owners": [7]}, "your_limit"),
        ({}, {"workers": 0}, "no_worker"),
        ({}, {"generators": {GENERATOR: GeneratorFigures(0, 5, True, 20.0)}}, "paused"),
        ({"held_until": NOW + 5}, {}, "upstream"),
    ],
)
def test_why_a_task_waits(state: dict[str, Any], published: dict[str, Any], reason: str) -> None:
    assert presence(body(**state), None, figures(**published), NOW).waiting_for == reason


def test_position_counts_from_one_in_the_pools_order() -> None:
    assert presence(body(tag=1.0), None, figures(), NOW).position == 1
    assert presence(body(tag=5.0), None, figures(), NOW).position == 2
    assert presence(body(tag=99.0), None, figures(), NOW).position == 4


@given(st.floats(0, 1e6), st.lists(st.floats(0, 1e6), max_size=50))
def test_position_lies_within_the_queue_and_the_hint_within_its_bounds(
    tag: float, tags: list[float]
) -> None:
    ranked = [(value, rank) for rank, value in enumerate(sorted(set(tags)))]
    published = figures(tags=ranked, pending=len(ranked))
    found = presence(body(tag=tag), None, published, NOW)
    if ranked:
        assert found.position is not None
        assert 1 <= found.position <= len(ranked) + 1
    assert found.retry_after is not None
    assert MIN_HINT <= found.retry_after <= MAX_HINT


def test_how_long_ones_own_limit_lasts_is_not_guessed() -> None:
    found = presence(body(), None, figures(full_owners=[7]), NOW)
    assert (found.waiting_for, found.eta) == ("your_limit", None)


def test_without_news_from_redis_progress_is_that_of_the_last_heartbeat() -> None:
    running = body("running")
    running["document"]["progress"] = 80
    assert presence(running, None, figures(), NOW).progress == 80
    assert presence(running, 81, figures(), NOW).progress == 81
