"""What is true of a task only now: progress, position, why it waits, how long it may take.

Pure functions over a snapshot's body and the pool's published figures.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tasks_app.gates.figures import Figures
from tasks_app.lifecycle import TERMINAL, State, Wait

MIN_HINT: Final = 1
MAX_HINT: Final = 15
"""Bounds of ``Retry-After`` for polls, in seconds."""


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
    seconds = _usual_seconds(body, figures)
    if state is State.RUNNING:
        # The document has what the last heartbeat said, for when Redis does not know better.
        progress = max(0, min(99, document["progress"] if reported is None else reported))
        eta = _remaining(document, progress, seconds, now)
        return Presence(progress, eta=eta, retry_after=_hint(eta))
    position = _position(body, figures)
    reason = _reason(body, figures, now)
    eta = _waiting(position, seconds, figures) if reason in _MOVING else None
    return Presence(0, position, reason, eta, _hint(eta if eta is not None else 10))


_MOVING: Final = (None, Wait.SLOTS)
"""Reasons that pass at the pace of the pool; how long one's own limit lasts is not known."""


def _usual_seconds(body: dict[str, Any], figures: Figures | None) -> float | None:
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


def _position(body: dict[str, Any], figures: Figures | None) -> int | None:
    """Return the place in the pool's order, from 1, interpolated between the samples."""
    if figures is None or body["held_until"] is not None:
        return None
    tags = [tag for tag, _ in figures.tags]
    place = bisect_left(tags, body["tag"])
    if place >= len(tags):
        return figures.pending + 1
    own = float(body["tag"])
    rank = figures.tags[place][1]
    if place == 0 or tags[place] == own:
        return rank + 1
    before_tag, before_rank = figures.tags[place - 1]
    part = (own - before_tag) / (tags[place] - before_tag)
    return round(before_rank + part * (rank - before_rank)) + 1


def _reason(body: dict[str, Any], figures: Figures | None, now: float) -> str | None:
    if body["held_until"] is not None and body["held_until"] > now:
        return Wait.UPSTREAM
    if figures is None:
        return None
    generator = figures.of(body["generator_id"])
    if generator is not None and generator.paused:
        return Wait.PAUSED
    if figures.workers == 0:
        return Wait.NO_WORKER
    if body["owner"] in figures.full_owners:
        return Wait.YOUR_LIMIT
    return Wait.SLOTS


def _waiting(position: int | None, seconds: float | None, figures: Figures | None) -> int | None:
    if position is None or seconds is None or figures is None:
        return None
    at_once = max(1, min(figures.workers, figures.limit or 1))
    return max(1, math.ceil(((position - 1) / at_once + 1) * seconds))


def _hint(eta: int | None) -> int:
    """Half of what is left, within bounds: late news cost less than polls that find nothing."""
    if eta is None:
        return MIN_HINT + 1
    return max(MIN_HINT, min(MAX_HINT, math.ceil(eta / 2)))
