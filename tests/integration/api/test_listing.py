"""What may be asked of the list of tasks, and what is refused."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conftest import make_generator
from tests.history import fill
from tests.integration.api.caller import Caller

pytestmark = pytest.mark.django_db


def listed(caller: Caller, **query: str) -> Any:
    return caller.get(f"/v1/tasks?{urlencode(query)}")


def test_words_and_times_narrow_the_list(as_alice: Caller, alice: Any) -> None:
    fill(alice, 8, make_generator(), gap=3600)
    answer = listed(as_alice, q="山水")
    assert answer.status_code == 200
    found = answer.json()["items"]
    assert [task["params"]["prompt"][-1] for task in found] == ["7", "3"]
    span = {"created_after": found[1]["created_at"], "created_before": found[0]["created_at"]}
    inside = listed(as_alice, **span).json()["items"]
    # Times are shown in milliseconds and kept in microseconds: the borders are not asked for.
    assert {"4", "5", "6"} <= {task["params"]["prompt"][-1] for task in inside} <= set("34567")


def test_error_codes_narrow_the_list(as_alice: Caller, alice: Any) -> None:
    fill(alice, 8, make_generator())
    assert len(listed(as_alice, error_code="canceled,internal").json()["items"]) == 8
    assert len(listed(as_alice, error_code="canceled", status="failed").json()["items"]) == 8
    assert listed(as_alice, error_code="internal").json()["items"] == []
    assert listed(as_alice, error_code="canceled", status="timeout").json()["items"] == []


def test_bob_does_not_find_words_of_alice(as_bob: Caller, alice: Any) -> None:
    fill(alice, 4, make_generator())
    assert listed(as_bob, q="boat").json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("q", "", "out_of_range"),
        ("q", "   ", "out_of_range"),
        ("q", "x" * 201, "out_of_range"),
        ("q", "a\x00b", "nul_character"),
        ("q", "a b c d e f g h i", "too_many"),
        ("error_code", "cancelled", "not_a_choice"),
        ("error_code", "canceled,\x00", "not_a_choice"),
        ("created_after", "", "not_a_time"),
        ("created_after", "2026-01-31", "not_a_time"),
        ("created_after", "2026-01-31T12:00:00", "not_a_time"),
        ("created_after", "2026-01-31T12:00:00 01:00", "not_a_time"),
        ("created_after", "2026-02-30T12:00:00Z", "not_a_time"),
        ("created_before", "0001-01-01T00:00:00+09:00", "not_a_time"),
        ("created_before", "yesterday", "not_a_time"),
        ("created_before", "１９２６-01-31T12:00:00Z", "not_a_time"),
    ],
)
def test_what_is_no_filter_is_named(as_alice: Caller, name: str, value: str, code: str) -> None:
    answer = listed(as_alice, **{name: value})
    assert answer.status_code == 422
    assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [
        (f"/{name}", code)
    ]


def test_filters_do_not_go_with_ids(as_alice: Caller) -> None:
    answer = listed(as_alice, ids="", q="boat")
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "value", ["2026-01-31T12:00:00Z", "2026-01-31t12:00:00.123456789z", "2026-01-31T12:00:00+08:00"]
)
def test_times_of_any_zone_are_taken(as_alice: Caller, value: str) -> None:
    assert listed(as_alice, created_after=value).status_code == 200
