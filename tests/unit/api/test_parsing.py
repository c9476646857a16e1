"""Reading JSON: every body is a value that can be kept, or a refusal with a sentence."""

import io
import math
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_django import Settings

from tasks_app.api.parsing import MAX_DEPTH, StrictJSONParser, TooLarge, check, parse, pointer
from tasks_app.core.errors import BadRequest, Invalid, Refusal

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"[" * 1_024 + b"]" * 1_024)
@example(b'{"a":' * 100_000)
@example(b"1" + b"0" * 1_000)
@example(b"-")
@example(b'"\\ud800"')
def test_any_bytes_are_a_value_or_a_refusal(raw: bytes) -> None:
    try:
        value = parse(raw)
    except Refusal as refusal:
        assert 400 <= refusal.status < 500
        assert refusal.detail
    else:
        orjson.dumps(value)


@given(values)
def test_a_refusal_names_a_place_that_exists(value: Any) -> None:
    try:
        check(value)
    except Invalid as refusal:
        (error,) = refusal.errors
        assert error.pointer == "" or error.pointer.startswith("/")
        found = value
        for part in error.pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
        assert "\0" in str(found) or "\\x00" in repr(found) or isinstance(found, (int, float))


@pytest.mark.parametrize("kind", [b"[", b'{"a":'])
def test_nesting_is_allowed_to_a_depth_and_no_further(kind: bytes) -> None:
    close = b"]" if kind == b"[" else b"}"
    parse(kind * MAX_DEPTH + b"1" + close * MAX_DEPTH)
    with pytest.raises(Invalid) as refusal:
        parse(kind * (MAX_DEPTH + 1) + b"1" + close * (MAX_DEPTH + 1))
    assert refusal.value.errors[0].code == "too_deep"
    assert refusal.value.errors[0].pointer.count("/") == 3


@pytest.mark.parametrize(
    "number", [2**63, -(2**63), -(2.0**63), 1e19, -1e19, math.inf, -math.inf, math.nan]
)
def test_numbers_beyond_64_bits_are_refused(number: float) -> None:
    with pytest.raises(Invalid):
        check({"a": number})


@pytest.mark.parametrize("number", [2**63 - 1, 1 - 2**63, 0, -0.0, 1e18, 5e-324, True])
def test_numbers_within_64_bits_are_taken(number: float) -> None:
    check({"a": number})


def test_a_pointer_is_escaped_and_short() -> None:
    assert pointer() == ""
    assert pointer("a/b", 0, "~") == "/a~1b/0/~0"
    assert len(pointer("x" * 10_000)) == 101


@pytest.mark.parametrize("raw", [b"NaN", b"Infinity", b"[1e400]", b"\xef\xbb\xbf1", b"1 2", b"01"])
def test_what_json_is_not_is_refused_with_the_reason(raw: bytes) -> None:
    with pytest.raises(BadRequest, match=r"not valid JSON: ."):
        parse(raw)


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b'{"params": {"seed": NaN}}', "in /params/seed (line 1, column 21)"),
        (b'{"params": {"a": [1, [], {"b": -Infinity}]}}', "in /params/a/2 (line 1, column 33)"),
        (b'{\n  "a": {"b": 1},\n  "c": 1e400}', "in /c (line 3, column 8)"),
        (
            b'{"params": {"prompt": "x, {\\"y\\": \\ud800"}}',
            "in /params/prompt (line 1, column 35)",
        ),
        (b'{"params": {"\\udfff": 1}}', "in /params (line 1, column 14)"),
        ('{"ü/é": {"~": NaN}}'.encode(), "in /ü~1é/~0 (line 1, column 15)"),
        (b'{"params": {"prompt": "x\xff"}}', "in /params/prompt (line 1, column 25)"),
        (b'{"params": {"prompt": "a\x00b"}}', "in /params/prompt (line 1, column 25)"),
        (b'{"generator": "sketch", ', "data (line 1, column 25)"),
        (b"{'a': 1}", " (line 1, column 2)"),
        (b'{"\\ud800": "\xff"}', " (line 1, column 13)"),
        (b'{: "\xff"}', " (line 1, column 5)"),
        (b"[" + b"1," * 50_000 + b"NaN]", "value (line 1, column 100002)"),
    ],
    ids=range(13),
)
def test_what_json_is_not_is_refused_with_its_place(raw: bytes, place: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse(raw)
    assert place in refused.value.detail


@pytest.mark.parametrize("unit", [b'"', b"\\", b'"\\', b"[", b"{", b'{"a":', b":", b",", b"]"])
def test_the_place_is_looked_for_in_anything(unit: bytes) -> None:
    for tail in (b"", b"\xff", b'"\xff', b"NaN"):
        with pytest.raises((BadRequest, Invalid)):
            parse(unit * 500_000 + tail)


class Trickle(io.BytesIO):
    """Returns fewer bytes than it is asked for, as sockets do."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(7 if size is None or size < 0 else min(7, size))


def test_a_body_that_comes_in_pieces_is_read_whole() -> None:
    assert StrictJSONParser().parse(Trickle(b'{"a": "' + b"x" * 100 + b'"}')) == {"a": "x" * 100}


def test_a_body_that_is_too_large_is_emptied_within_reason(settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    for size, left in ((101, 0), (800, 0), (5_000, 5_000 - 101 - 800)):
        stream = io.BytesIO(b"x" * size)
        with pytest.raises(TooLarge):
            StrictJSONParser().parse(stream)
        assert len(stream.read()) == left
