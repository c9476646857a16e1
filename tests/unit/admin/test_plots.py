"""Plots stay inside their frame and keep their order."""

from hypothesis import given
from hypothesis import strategies as st

from tasks_app.admin import plots, words

seconds = st.floats(min_value=0, max_value=1e7)


@given(st.lists(st.tuples(seconds, seconds), max_size=8))
def test_ranges_are_inside_and_in_order(pairs: list[tuple[float, float]]) -> None:
    rows = [plots.Range("one", min(pair), max(pair), "") for pair in pairs]
    found = plots.ranges(rows)
    for placed in found.rows:
        assert 0 <= placed.begin <= placed.end <= 100
    marks = [tick.x for tick in found.ticks]
    assert marks == sorted(marks)
    assert all(0 <= mark <= 100 for mark in marks)
    assert len(marks) >= 3


@given(st.floats(min_value=-1, max_value=100))
def test_bars_are_inside_and_seen_unless_they_are_nothing(fraction: float) -> None:
    percent = plots.Bar("one", fraction, "").percent
    assert 0 <= percent <= 100
    assert (percent > 0) == (fraction > 0)


def test_spans_are_told_in_their_largest_unit() -> None:
    told = [words.span(one) for one in (0.04, 9.96, 42, 150, 7_300, 200_000)]
    assert told == ["0.0 s", "10.0 s", "42 s", "2 min", "2 h", "2 d"]
