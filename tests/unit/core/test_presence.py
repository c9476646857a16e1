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
    given: dict[str, Any] = {
        "generator_id": GENERATOR,
        "flow": "f",
        "tag": 5.0,
        "cost": None,
        "held_until": None,
        "owner": 7,
    }
    return {**given, **changes, "document": document}


def figures(**changes: Any) -> Figures:
    known = GeneratorFigures(used=0, limit=5, paused=False, seconds=20.0, entry=(2, 5.0))
    values: dict[str, Any] = {
        "pool": "default",
        "pending": 3,
        "workers": 2,
        "limit": 20,
        "flows": {"f": [(1.0, 1, 0.0), (5.0, 3, 10.0), (9.0, 7, 50.0)]},
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
        ({}, {"generators": {GENERATOR: GeneratorFigures(0, 5, False, 20.0, 0.5)}}, "upstream"),
    ],
)
def test_why_a_task_waits(state: dict[str, Any], published: dict[str, Any], reason: str) -> None:
    assert presence(body(**state), None, figures(**published), NOW).waiting_for == reason


def test_position_and_time_are_what_was_foretold_of_the_flow() -> None:
    found = presence(body(tag=1.0), None, figures(), NOW)
    assert (found.position, found.eta) == (1, 20)
    found = presence(body(tag=7.0), None, figures(), NOW)
    assert (found.position, found.eta) == (5, 50)
    found = presence(body(tag=11.0, cost=3.0), None, figures(), NOW)
    assert (found.position, found.eta) == (8, 66), "behind the samples it goes on at their pace"


def test_the_next_question_is_for_the_start_however_long_it_takes_then() -> None:
    def hint(tag: float) -> int | None:
        return presence(body(tag=tag, cost=300.0), None, figures(), NOW).retry_after

    assert [hint(tag) for tag in (1.0, 5.0, 9.0)] == [2, 12, MAX_HINT]
    assert presence(body(tag=1.0, cost=2.0), None, figures(), NOW).retry_after == MIN_HINT


def test_who_has_just_come_in_waits_like_anybody_who_does() -> None:
    found = presence(body(flow="new"), None, figures(), NOW)
    assert (found.position, found.eta) == (2, 25)


def test_what_does_not_pass_by_itself_is_not_guessed() -> None:
    found = presence(body(), None, figures(workers=0), NOW)
    assert (found.position, found.eta) == (3, None)
    paused = {GENERATOR: GeneratorFigures(0, 5, True, 20.0)}
    found = presence(body(), None, figures(generators=paused), NOW)
    assert (found.position, found.eta) == (None, None)


def test_ones_own_limit_is_foretold_like_the_rest() -> None:
    found = presence(body(), None, figures(full_owners=[7]), NOW)
    assert (found.waiting_for, found.eta) == ("your_limit", 30)


@given(
    st.floats(0, 1e6),
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 3000), st.floats(0, 1e6)), min_size=1),
)
def test_position_time_and_hint_lie_within_their_bounds(
    tag: float, samples: list[tuple[float, int, float]]
) -> None:
    columns = [sorted(column) for column in zip(*samples, strict=True)]
    flow = list(zip(*columns, strict=True))
    found = presence(body(tag=tag), None, figures(flows={"f": flow}), NOW)
    assert found.position is not None
    assert found.position >= 1
    assert found.eta is not None
    assert found.eta >= 1
    assert found.retry_after is not None
    assert MIN_HINT <= found.retry_after <= MAX_HINT


def test_without_news_from_redis_progress_is_that_of_the_last_heartbeat() -> None:
    running = body("running")
    running["document"]["progress"] = 80
    assert presence(running, None, figures(), NOW).progress == 80
    assert presence(running, 81, figures(), NOW).progress == 81
