"""What follows a failed attempt: pure functions over values."""

import random
from dataclasses import dataclass
from typing import Final

from tasks_app.lifecycle import ErrorCode

_BASE_DELAY: Final = 2.0
_MAX_DELAY: Final = 60.0


@dataclass(frozen=True, slots=True)
class Again:
    """Try again after ``delay`` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Over:
    """The task has failed with this code."""

    code: ErrorCode


def after_error(
    code: ErrorCode, *, retryable: bool, failures: int, budget: int, attempts: int, cap: int
) -> Again | Over:
    """Decide after an attempt that failed. ``failures`` counts this one too."""
    if not retryable or failures >= budget or attempts >= cap:
        return Over(code)
    return Again(full_jitter(failures, _BASE_DELAY, _MAX_DELAY))


def after_loss(*, failures: int, budget: int, attempts: int, cap: int) -> Again | Over:
    """Decide after a worker was lost. ``failures`` counts this one too."""
    if failures >= budget or attempts >= cap:
        return Over(ErrorCode.WORKER_LOST)
    return Again(0.0)


def after_interruption(*, attempts: int, cap: int) -> Again | Over:
    """Decide after a worker stopped in an orderly way: it costs no failure budget."""
    return Over(ErrorCode.WORKER_LOST) if attempts >= cap else Again(0.0)


def after_refusal(delay: float, *, attempts: int, cap: int) -> Again | Over:
    """Decide after an upstream took nothing: it costs no failure budget."""
    return Over(ErrorCode.UPSTREAM_ERROR) if attempts >= cap else Again(delay)


def full_jitter(failures: int, base: float, cap: float) -> float:
    """Return ``uniform(0, min(cap, base * 2^(failures - 1)))``, the "full jitter" back-off.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """
    exponent = min(max(failures - 1, 0), 30)
    return random.uniform(0.0, min(cap, base * 2.0**exponent))
