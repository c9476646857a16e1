import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.api import ranges


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("bytes=0-0", (0, 0)),
        ("bytes=0-1", (0, 1)),
        ("bytes=0-", (0, 99)),
        ("bytes=10-19", (10, 19)),
        ("bytes=99-99", (99, 99)),
        ("bytes=90-1000", (90, 99)),
        ("bytes=-1", (99, 99)),
        ("bytes=-30", (70, 99)),
        ("bytes=-1000", (0, 99)),
    ],
)
def test_one_range(header: str, span: tuple[int, int]) -> None:
    found = ranges.read(header, 100)
    assert found is not None
    assert (found.start, found.end) == span
    assert found.header == f"bytes {span[0]}-{span[1]}/100"
    assert found.length == span[1] - span[0] + 1


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=9-5",
        "bytes=a-b",
        "bytes=0-1,5-6",
        "items=0-1",
        "bytes=+1-2",
        "bytes=１-２",
        "bytes=" + "9" * 40 + "-",
    ],
)
def test_what_is_odd_is_the_whole_file(header: str | None) -> None:
    assert ranges.read(header, 100) is None


@pytest.mark.parametrize(
    ("header", "total"),
    [("bytes=100-", 100), ("bytes=100-200", 100), ("bytes=-0", 100), ("bytes=0-", 0)],
)
def test_outside_the_file(header: str, total: int) -> None:
    with pytest.raises(ranges.Unsatisfiable):
        ranges.read(header, total)


@given(st.text(alphabet="bytes=0123456789-, "), st.integers(0, 1000))
def test_a_span_is_always_inside_the_file(header: str, total: int) -> None:
    try:
        found = ranges.read(header, total)
    except ranges.Unsatisfiable:
        return
    if found:
        assert 0 <= found.start <= found.end < total
