"""The transition table and the closed lists."""

import pytest

from tasks_app.lifecycle import (
    ERROR_SENTENCES,
    LIVE,
    RETRYABLE_ERRORS,
    TERMINAL,
    ErrorCode,
    State,
    may_follow,
)

ALLOWED = {
    ("pending", "running"),
    ("pending", "failed"),
    ("pending", "timeout"),
    ("running", "success"),
    ("running", "failed"),
    ("running", "timeout"),
    ("running", "pending"),
}


@pytest.mark.parametrize("source", State)
@pytest.mark.parametrize("target", State)
def test_only_these_changes_exist(source: State, target: State) -> None:
    assert may_follow(source, target) is ((source.value, target.value) in ALLOWED)


def test_every_state_is_live_or_terminal() -> None:
    assert set(State) == LIVE | TERMINAL
    assert not LIVE & TERMINAL


def test_every_error_code_has_a_sentence() -> None:
    assert set(ERROR_SENTENCES) == set(ErrorCode)
    assert set(ErrorCode) >= RETRYABLE_ERRORS
