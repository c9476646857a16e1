"""What is true of a task only now: progress, position, why it waits, how long it may take.

Pure functions over a snapshot's body and the pool's published figures.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tasks_app.core.estimates import interpolated
from tasks_app.gates.figures import Figures
from tasks_app.lifecycle import TERMINAL, State, Wait

MIN_HINT: Final = 1
MAX_HINT: Final = 15
"""Bounds of ``Retry-After`` for polls, in seconds."""
START_SLACK: Final = 2
"""Seconds after which a task that is about to start is asked for again."""


@dataclass(frozen=True, slots=True)
class Presence:
    """What a read adds to the stored document, and the seconds until the next read is worth it."""

    progress: int
    position: int | None = None
    waiting_for: str | None = None
    eta: int | None = None
    retry_after: int | None = None


def presence(
    body: dict[str, Any], reported: int | None, figures: Figures | None, now: float
) -> Presence:
    """Judge a snapshot's body at Unix time ``now``. ``reported``: percent of the live attempt."""
    document = body["document"]
    state = State(document["status"])
    if state in TERMINAL:
        return Presence(progress=document["progress"])
    seconds = _expected_seconds(body, figures)
    if state is State.RUNNING:
        # The document has what the last heartbeat said, for when Redis does not know better.
        progress = max(0, min(99, document["progress"] if reported is None else reported))
        eta = _remaining(document, progress, seconds, now)
        return Presence(progress, eta=eta, retry_after=_hint(eta))
    reason = _reason(body, figures, now)
    place = None if reason == Wait.PAUSED else _place(body, figures)
    if place is None:
        return Presence(0, None, reason, None, _hint(10))
    position, until = place
    if seconds is None or reason == Wait.NO_WORKER:
        # Somebody has to do something first: the order is known, the time is not.
        return Presence(0, position, reason, None, _hint(10))
    eta = max(1, math.ceil(until + seconds))
    # The next news is that it starts, even where a film takes minutes after that.
    hint = min(_hint(eta), math.ceil(until) + START_SLACK)
    return Presence(0, position, reason, eta, hint)


def _expected_seconds(body: dict[str, Any], figures: Figures | None) -> float | None:
    """Return what such a task costs: by its size if that is known, or as the generator's others."""
    if body["cost"] is not None:
        return float(body["cost"])
    known = figures.of(body["generator_id"]) if figures else None
    return known.seconds if known else None


def _remaining(
    document: dict[str, Any], progress: int, usual: float | None, now: float
) -> int | None:
    started = document["started_at"]
    if started is None:
        return None
    elapsed = max(0.0, now - datetime.fromisoformat(started).timestamp())
    if progress >= 5:
        return max(1, math.ceil(elapsed * (100 - progress) / progress))
    return max(1, math.ceil(usual - elapsed)) if usual is not None else None


def _place(body: dict[str, Any], figures: Figures | None) -> tuple[int, float] | None:
    """Return position, from 1, and seconds until the start, from what was foretold of its flow.

    A flow of which nothing was foretold has come in since, or is behind what is foretold.
    """
    if figures is None or body["held_until"] is not None:
        return None
    known = figures.flows.get(body["flow"])
    if known is not None:
        position, until = interpolated(known, float(body["tag"]))
        return max(1, position), max(0.0, until)
    generator = figures.of(body["generator_id"])
    return generator.entry if generator is not None else None


def _reason(body: dict[str, Any], figures: Figures | None, now: float) -> str | None:
    if body["held_until"] is not None and body["held_until"] > now:
        return Wait.UPSTREAM
    if figures is None:
        return None
    generator = figures.of(body["generator_id"])
    if generator is not None and generator.paused:
        return Wait.PAUSED
    if figures.storage_refuses:
        return Wait.STORAGE
    if figures.workers == 0:
        return Wait.NO_WORKER
    if body["owner"] in figures.full_owners:
        return Wait.YOUR_LIMIT
    if generator is not None and generator.rate_wait > 0:
        return Wait.UPSTREAM
    return Wait.SLOTS


def _hint(eta: int | None) -> int:
    """Half of what is left, within bounds: late news cost less than polls that find nothing."""
    if eta is None:
        return MIN_HINT + 1
    return max(MIN_HINT, min(MAX_HINT, math.ceil(eta / 2)))
