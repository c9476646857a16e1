"""How a generation is told to stop."""

import time

import pytest

from tasks_app.core.stopping import Reason, Run
from tasks_app.generators.errors import Stopped


def test_progress_never_goes_backwards_or_beyond_the_end() -> None:
    run = Run(time.monotonic() + 60)
    for fraction, expected in ((0.5, 0.5), (0.2, 0.5), (7, 1.0)):
        run.report(fraction)
        assert run.fraction == expected


def test_the_first_reason_wins_and_no_except_exception_swallows_it() -> None:
    run = Run(time.monotonic() + 60)
    run.stop(Reason.REVOKED)
    run.stop(Reason.SHUTDOWN)
    with pytest.raises(Stopped) as caught:
        try:
            run.report(0.1)
        except Exception:
            pytest.fail("model code could swallow the stop")
    assert caught.value.reason == Reason.REVOKED


def test_a_passed_deadline_stops_at_the_next_step() -> None:
    run = Run(time.monotonic() - 1)
    with pytest.raises(Stopped):
        run.report(0.0)
    assert run.reason is Reason.DEADLINE
