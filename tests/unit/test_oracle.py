"""The judge of the fault suite: bad histories, each of which must be seen as what it is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.faults.oracle import (
    RULES,
    Accepted,
    Call,
    Count,
    File,
    History,
    Row,
    Seen,
    judge,
    most_at_once,
)

DONE = Row(
    key="a",
    task_id="1",
    state="success",
    owner="alice",
    generator="limited",
    attempts=1,
    outcomes=("success",),
    events=("submitted", "claimed", "succeeded"),
)
CANCELED = replace(
    DONE,
    key="b",
    task_id="2",
    state="failed",
    attempts=0,
    outcomes=(),
    events=("submitted", "canceled"),
)


def good() -> History:
    """Return a history without a fault: one success, one cancel, one key answered twice."""
    return History(
        accepted=[Accepted("a", "1"), Accepted("a", "1"), Accepted("b", "2")],
        sent={"a", "b", "never answered"},
        seen=[
            Seen("1", "pending"),
            Seen("1", "running"),
            Seen("1", "pending"),
            Seen("2", "failed"),
            Seen("1", "success"),
            Seen("1", "success"),
        ],
        calls=[Call("a", 1.0, 2.0)],
        rows=[DONE, CANCELED],
        files=[File("1", 10, "abc", 10, "abc", opens=True)],
        limits={"all": 1, "generator limited": 1, "owner alice": 1},
        counts=[Count("submissions", 2, 2)],
        slots={"all": 0},
        lateness=1.0,
    )


def test_a_good_history_is_acquitted() -> None:
    assert judge(good()) == []


def _rows(history: History, *rows: Row) -> None:
    history.rows = list(rows)


def _running_twice(history: History) -> None:
    _rows(history, replace(DONE, attempts=2, outcomes=("lost", "success")), CANCELED)
    history.calls.append(Call("a", 1.5, 3.0))


BAD: dict[str, tuple[str, Callable[[History], None]]] = {
    "a key is told two tasks": (
        "one_task_per_key",
        lambda h: h.accepted.append(Accepted("a", "3")),
    ),
    "a key has two tasks": (
        "one_task_per_key",
        lambda h: h.rows.append(replace(DONE, task_id="3")),
    ),
    "a key that was not answered has two tasks": (
        "one_task_per_key",
        lambda h: h.rows.extend(
            replace(CANCELED, key="never answered", task_id=n) for n in ("3", "4")
        ),
    ),
    "a task that nobody sent": (
        "one_task_per_key",
        lambda h: h.rows.append(replace(CANCELED, key="z", task_id="3")),
    ),
    "an accepted task is lost": (
        "live_and_archived_are_what_was_accepted",
        lambda h: _rows(h, DONE),
    ),
    "a task is in the archive as well": (
        "live_and_archived_are_what_was_accepted",
        lambda h: h.rows.append(replace(DONE, archived=True)),
    ),
    "a task never ends": (
        "one_ending",
        lambda h: _rows(h, replace(DONE, state="running", events=()), CANCELED),
    ),
    "two endings": (
        "one_ending",
        lambda h: _rows(h, replace(DONE, events=("timed_out", "succeeded")), CANCELED),
    ),
    "an ending of another kind": (
        "one_ending",
        lambda h: _rows(h, replace(DONE, events=("claimed", "timed_out")), CANCELED),
    ),
    "an archived task that has not ended": (
        "one_ending",
        lambda h: _rows(h, DONE, replace(CANCELED, archived=True, state="pending")),
    ),
    "a terminal state changes": (
        "terminal_is_final",
        lambda h: h.seen.append(Seen("1", "failed")),
    ),
    "a terminal state is taken back": (
        "terminal_is_final",
        lambda h: h.seen.append(Seen("1", "running")),
    ),
    "a poll saw what is not stored": (
        "terminal_is_final",
        lambda h: h.seen.insert(0, Seen("3", "success")),
    ),
    "success without a file": ("success_has_its_bytes", lambda h: h.files.clear()),
    "a file that is away": (
        "success_has_its_bytes",
        lambda h: h.files.append(File("1", 10, "abc", None, None, opens=False)),
    ),
    "other bytes": (
        "success_has_its_bytes",
        lambda h: h.files.append(File("1", 10, "abc", 10, "abd", opens=True)),
    ),
    "a file that does not open": (
        "success_has_its_bytes",
        lambda h: h.files.append(File("1", 10, "abc", 10, "abc", opens=False)),
    ),
    "an attempt calls twice": (
        "calls_fit_attempts",
        lambda h: h.calls.append(Call("a", 3.0, 4.0)),
    ),
    "two attempts succeed": (
        "calls_fit_attempts",
        lambda h: _rows(h, replace(DONE, attempts=2, outcomes=("success",) * 2), CANCELED),
    ),
    "a success of no attempt": (
        "calls_fit_attempts",
        lambda h: _rows(h, replace(DONE, outcomes=("lost",)), CANCELED),
    ),
    "a call for no task": ("calls_fit_attempts", lambda h: h.calls.append(Call("z", 3.0, 4.0))),
    "too many at once": ("limits_hold", _running_twice),
    "too late": (
        "deadlines_hold",
        lambda h: _rows(h, replace(DONE, late=1.1), CANCELED),
    ),
    "a counter is wrong": (
        "counters_are_true",
        lambda h: h.counts.append(Count("completions", 2, 1)),
    ),
    "a slot is not given back": ("slots_are_given_back", lambda h: setattr(h, "slots", {"all": 1})),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_breaks_its_rule(name: str) -> None:
    rule, spoil = BAD[name]
    history = good()
    spoil(history)
    broken = [one.__name__ for one in RULES if list(one(history))]
    assert rule in broken
    assert judge(history)


def test_every_rule_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, _ in BAD.values()} == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize(
    ("scope", "broken"),
    [("all", True), ("generator limited", True), ("owner alice", True), ("owner bob", False)],
)
def test_limits_are_judged_by_scope(scope: str, broken: bool) -> None:
    history = good()
    history.limits = {scope: 1}
    _running_twice(history)
    assert bool(judge(history)) is broken


def test_a_call_that_never_stopped_counts_on_and_an_end_comes_before_a_start() -> None:
    assert most_at_once([Call("a", 1.0, 2.0), Call("b", 2.0, 3.0)]) == 1
    assert most_at_once([Call("a", 1.0, None), Call("b", 9.0, 9.5)]) == 2
