"""How often an upstream is asked, and how late the end of a generation is noticed.

Simulated on the functions that choose the times, over generations whose durations are known here
and only noticed there: every 2 s, full jitter, and what a worker does once it knows how long the
generator's work took lately. Prints questions a generation and the delay of the notice (mean and
95 of 100); --plot writes the picture of the documentation.

    python -m bench.questions [--number 20000] [--seed 7] [--plot docs/images/questions.svg]
"""

import argparse
import math
import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.plot import Band, draw

FIXED, JITTER, INFORMED = "every 2 s", "full jitter", "Darkroom"
_WINDOW, _ENOUGH, _EARLY = 50, 10, 0.01
"""As ``records.early_seconds`` has it: the last fifty, ten at least, the 1st percentile."""


@dataclass(frozen=True, slots=True)
class Work:
    """Generations of one kind: how long they take, and their generator's base and cap."""

    label: str
    duration: Callable[[], float]
    base: float
    cap: float


@dataclass(frozen=True, slots=True)
class Seen:
    """Questions a generation; delay of the notice in seconds: median, mean, 95 of 100."""

    questions: float
    median: float
    mean: float
    late: float


def around(median: float) -> Callable[[], float]:
    """Return log-normal durations, sigma 0.5."""
    return lambda: random.lognormvariate(math.log(median), 0.5)


WORKS = (
    Work("8 s", around(8), 2.0, 15.0),
    Work("30 s", around(30), 2.0, 15.0),
    Work("30 s to 5 min", lambda: random.uniform(30, 300), 2.0, 15.0),
    Work("2 min, video", around(120), 3.0, 30.0),
)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    _pretend()
    random.seed(options.seed)
    bands = []
    for work in WORKS:
        for way in (INFORMED, JITTER, FIXED):
            seen = simulated(work, way, options.number)
            print(
                f"{work.label:14} {way:12} {seen.questions:5.1f} questions, noticed after "
                f"{seen.mean:4.1f} s in the mean, {seen.late:4.1f} s in 95 of 100"
            )
            words = f"{seen.questions:.1f} questions, {seen.late:.0f} s"
            bands.append(Band(work.label, way, seen.median, seen.late, words))
    if options.plot:
        title = "Questions a generation, and when its end is noticed (median to 95 of 100)"
        options.plot.write_text(draw(title, bands))


def simulated(work: Work, way: str, number: int) -> Seen:
    """Ask about so many generations of a kind, one after another."""
    from tasks_app.core.remote import schedule
    from tasks_app.generators.remote import Pace

    pace = Pace(work.base, work.cap)
    noticed: deque[float] = deque(maxlen=_WINDOW)
    delays, questions = [], 0

    def following(asked: int, age: float) -> float:
        early = percentile(noticed) if way == INFORMED else None
        if way == FIXED:
            return 2.0
        if asked == 0:
            return schedule.first(pace, early, None)
        return schedule.after(pace, asked, None, age=age, known=early is not None)

    for _ in range(number):
        duration, asked = work.duration(), 0
        at = following(0, 0.0)
        while at < duration:  # ends: each interval is a second at least
            asked += 1
            at += following(asked, at)
        questions += asked + 1
        noticed.append(at)
        delays.append(at - duration)
    delays.sort()
    mean = sum(delays) / number
    return Seen(questions / number, delays[number // 2], mean, delays[int(number * 0.95)])


def percentile(noticed: "deque[float]") -> float | None:
    """Return what the shortest took, as the database's ``percentile_cont``; None: too few."""
    if len(noticed) < _ENOUGH:
        return None
    ordered = sorted(noticed)
    place = _EARLY * (len(ordered) - 1)
    below = int(place)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def _pretend() -> None:
    """Settings that nothing is asked of: only pure functions are called."""
    for name, value in {
        "DJANGO_SETTINGS_MODULE": "aigc_site.settings",
        "DATABASE_URL": "postgresql:///nobody",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "DARKROOM_SECRET_KEY": "only-for-a-simulation-never-for-a-service",
        "DARKROOM_INSECURE_HTTP": "1",
    }.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()


if __name__ == "__main__":
    main()
