"""The submit rate: the generic cell rate algorithm (ITU-T I.371), as a pure function."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from tasks_app.models import bounds


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one more is allowed, and what follows.

    ``tat``: the theoretical arrival time to store if allowed. ``retry_after``: seconds until
    one would be allowed. ``remaining``: how many more would be allowed right now.
    """

    allowed: bool
    tat: datetime
    retry_after: float
    remaining: int


def conform(tat: datetime | None, now: datetime, interval: float, burst: int) -> Verdict:
    """Judge one arrival at ``now``: one per ``interval`` seconds with ``burst`` at once.

    ``interval`` 0 means no limit; one beyond a day, which no table holds, counts as a day. A
    ``tat`` further ahead than this rate could bring it is that of a slower one, which held before:
    one more is allowed, as if the burst were used but for one.
    """
    interval = min(interval, bounds.MOST_INTERVAL)
    if interval <= 0:
        return Verdict(True, now, 0.0, burst)
    base = max(tat or now, now)
    ahead = (base - now).total_seconds()
    tolerance = interval * (burst - 1)
    if ahead > interval * burst + 1e-6:
        base, ahead = now + timedelta(seconds=tolerance), tolerance
    # A microsecond of slack: the stored column has microseconds, the sums do not.
    if ahead > tolerance + 1e-6:
        return Verdict(False, base, ahead - tolerance, 0)
    after = ahead + interval
    remaining = int((interval * burst - after) / interval + 1e-9)
    return Verdict(True, base + timedelta(seconds=interval), 0.0, max(0, remaining))
