"""A day of a busy service, played through the real submission, claim and figures.

One user submits a batch of 5 000 tasks in the morning; 50 light users and 5 VIPs (weight 4) come
by all day, and at noon all of them at once; somebody asks for low priority, somebody may run only
one task at a time, and one generator is paused for hours. Five slots, a minute per task: the batch
alone would take 17 hours. Time is passed in; database and Redis are real. The same arrivals are
played in order of submission and by strict priority (pure functions, the same limits), for
comparison.

Prints how long each group waited, and what was foretold of that against what came true; --plot
writes the picture of the documentation.

    python -m bench.fairness [--part 1.0] [--seed 7] [--plot docs/images/fairness.svg]
"""

import argparse
import heapq
import itertools
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench import stand
from bench.plot import Band, draw

SLOTS: Final = 5
SECONDS: Final = 60.0
DAY: Final = 86_400.0
FIGURES_EVERY: Final = 240.0
"""Seconds of the day between two looks into the future."""
PAUSED: Final = (0.1, 0.3)
"""When the generator is paused, as parts of the day."""
RUSH: Final = 6
"""Tasks of each light user and VIP within two minutes."""
GROUPS: Final = (
    *("light", "vip", "light, rush", "vip, rush"),
    *("low", "batch", "capped", "paused"),
)
WORDS: Final = {
    "light": "50 light users",
    "vip": "5 VIPs, weight 4",
    "light, rush": "the same at noon",
    "vip, rush": "VIPs at noon",
    "low": "low priority",
    "batch": "the batch",
    "capped": "one at a time",
    "paused": "paused for hours",
}


@dataclass(slots=True)
class Job:
    """One task of the day."""

    at: float
    group: str
    owner: str
    seconds: float
    end: float
    started: float | None = None
    foretold: list[tuple[float, float]] = field(default_factory=list)
    """(when it was foretold, for when)"""

    @property
    def waited(self) -> float:
        """Seconds until the start; what never started waited to the end of the day."""
        return (self.end if self.started is None else self.started) - self.at


def arrivals(part: float, seed: int) -> list[Job]:
    """Return the day's tasks in order of submission; ``part`` shortens the day."""
    dice = random.Random(seed)
    end = DAY * part

    def job(at: float, group: str, owner: str) -> Job:
        return Job(at, group, owner, SECONDS * dice.lognormvariate(-0.045, 0.3), end)

    jobs = [job(60.0, "batch", "batch") for _ in range(round(5_000 * part))]
    jobs += [job(120.0, "capped", "capped") for _ in range(round(150 * part))]
    jobs += [job(180.0, "low", "low") for _ in range(round(100 * part))]
    jobs += [job(PAUSED[0] * end + 60, "paused", "paused") for _ in range(round(100 * part))]
    for group, people, tasks in (("light", 50, 24), ("vip", 5, 60)):
        for number in range(people):
            wanted = max(2, round(tasks * part))
            while wanted > 0:
                burst, moment = min(wanted, dice.randint(1, 4)), dice.uniform(300, end * 0.9)
                jobs += [job(moment, group, f"{group}-{number}") for _ in range(burst)]
                wanted -= burst
        for number in range(people):  # at noon everybody wants something at once
            moment = end / 2 + dice.uniform(0, 120)
            jobs += [job(moment, f"{group}, rush", f"{group}-{number}") for _ in range(RUSH)]
    return sorted(jobs, key=lambda one: one.at)


# --- the real thing ----------------------------------------------------------------------------


class Day:
    """The day on the real code."""

    def __init__(self, jobs: Sequence[Job], part: float) -> None:
        from django.conf import settings

        settings.DARKROOM = settings.DARKROOM | {"limit_all": SLOTS, "max_wait": 86_400.0}
        self._jobs, self._end = jobs, DAY * part
        self._pause = (PAUSED[0] * self._end, PAUSED[1] * self._end)
        self._begin = datetime.now(UTC) - timedelta(days=3)
        self._by_id: dict[Any, Job] = {}
        self._new: list[Any] = []
        self._generators = {name: stand.generator(name) for name in ("open", "paused")}
        limits = defaultdict(dict, {"capped": {"max_running": 1}})
        self._users = {
            name: stand.user(name, weight=4.0 if name.startswith("vip") else 1.0, **limits[name])
            for name in sorted({job.owner for job in jobs})
        }
        self.tick_seconds: list[float] = []
        self.claim_seconds: list[float] = []

    def play(self) -> None:
        """Play the day from the first submission to its end."""
        events: list[tuple[float, int, Callable[[float], None]]] = []
        order = itertools.count()

        def later(at: float, action: Callable[[float], None]) -> None:
            heapq.heappush(events, (at, next(order), action))

        self._later = later
        for job in self._jobs:
            later(job.at, lambda now, job=job: self._submit(job))
        for moment, paused in zip(self._pause, (True, False), strict=True):
            later(moment, lambda now, paused=paused: self._set_paused(paused))
        for number in range(1, int(self._end / FIGURES_EVERY)):
            later(number * FIGURES_EVERY, self._foretell)
        free = SLOTS
        while events and events[0][0] < self._end:
            now = events[0][0]
            with self._clock(now):
                while events and events[0][0] <= now:
                    free += bool(heapq.heappop(events)[2](now))
                while free and self._claim(now):
                    free -= 1

    def _clock(self, now: float) -> Any:
        from tasks_app.core import clock

        return clock.at(self._begin + timedelta(seconds=now))

    def _submit(self, job: Job) -> None:
        from tasks_app.core import submission
        from tasks_app.lifecycle import Priority

        wish = submission.Wish(
            "paused" if job.group == "paused" else "open",
            {"prompt": "a day"},
            priority=Priority.LOW if job.group == "low" else Priority.NORMAL,
        )
        made = submission.submit(self._users[job.owner], wish)
        self._by_id[made.task_id] = job
        self._new.append(made.task_id)

    def _claim(self, now: float) -> bool:
        from tasks_app.core import claim

        begun = time.perf_counter()
        found = claim.claim_next("default", "bench")
        self.claim_seconds.append(time.perf_counter() - begun)
        if found is None:
            return False
        job = self._by_id[found.task.pk]
        job.started = now
        self._later(now + job.seconds, lambda _: self._finish(found))
        return True

    def _finish(self, claimed: Any) -> bool:
        stand.finish(claimed)
        return True

    def _set_paused(self, paused: bool) -> None:
        from tasks_app.models import Generator

        Generator.objects.filter(name="paused").update(paused=paused)

    def _foretell(self, now: float) -> None:
        """Publish the figures, and note what reads would say of tasks that came in since."""
        import orjson

        from tasks_app.core import documents, queries
        from tasks_app.core.presence import presence
        from tasks_app.gates import figures, workers
        from tasks_app.gates.connection import client
        from tasks_app.maintenance.figures import publish_all
        from tasks_app.models import Task

        for number in range(SLOTS):
            workers.alive("default", f"bench {number}", client())
        begun = time.perf_counter()
        publish_all()
        self.tick_seconds.append(time.perf_counter() - begun)
        figures.clear_cache()
        known = figures.read("default")
        looked, self._new = self._new, []
        step = max(1, len(looked) // 200)
        for task in queries.with_result(Task.objects.filter(pk__in=looked[::step])):
            body = orjson.loads(documents.snapshot(task, queries.document_of(task)))
            told = presence(body, None, known, self._begin.timestamp() + now)
            if task.state == "pending" and told.eta is not None:
                self._by_id[task.pk].foretold.append((now, now + told.eta - (task.cost or 0)))


# --- other orders, for comparison --------------------------------------------------------------


def other_order(jobs: Sequence[Job], part: float, key: Callable[[Job], Any]) -> list[Job]:
    """Play the same arrivals by another order, with the same limits; returns copies."""
    end, pause = DAY * part, tuple(DAY * part * one for one in PAUSED)
    mine = [Job(one.at, one.group, one.owner, one.seconds, end) for one in jobs]
    waiting: list[tuple[Any, int, Job]] = []
    moments = [(one.at, number, one) for number, one in enumerate(mine)]
    moments += [(moment, len(mine) + number, None) for number, moment in enumerate(pause)]
    heapq.heapify(moments)
    ties, free, capped = itertools.count(len(mine) + 2), SLOTS, 0
    while moments and moments[0][0] < end:
        now = moments[0][0]
        while moments and moments[0][0] <= now:
            job = heapq.heappop(moments)[2]
            if job is None:
                continue
            if job.started is None:
                heapq.heappush(waiting, (key(job), next(ties), job))
            else:
                free, capped = free + 1, capped - (job.group == "capped")
        aside = []
        while free and waiting:
            entry = heapq.heappop(waiting)
            job = entry[2]
            held = (job.group == "capped" and capped) or (
                job.group == "paused" and pause[0] <= now < pause[1]
            )
            if held:
                aside.append(entry)
                continue
            job.started = now
            free, capped = free - 1, capped + (job.group == "capped")
            heapq.heappush(moments, (now + job.seconds, next(ties), job))
        for entry in aside:
            heapq.heappush(waiting, entry)
    return mine


_STRICT: Final = {"vip": 0, "vip, rush": 0, "low": 2}


def main() -> None:
    """Play the day, and print and draw what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=float, default=1.0, help="of a day, and of its tasks")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    jobs = arrivals(options.part, options.seed)
    begun = time.perf_counter()
    with stand.service():
        day = Day(jobs, options.part)
        day.play()
    print(f"{len(jobs):,} tasks, {SLOTS} slots, {24 * options.part:g} h of a day", end=" ")
    print(f"in {time.perf_counter() - begun:.0f} s; seed {options.seed}")
    for name, taken in (("claim", day.claim_seconds), ("figures", day.tick_seconds)):
        print(f"{name}: p50 {1000 * statistics.median(taken):.1f} ms of {len(taken):,}")
    orders = {
        "fair": jobs,
        "first in, first out": other_order(jobs, options.part, lambda job: job.at),
        "strict priority": other_order(
            jobs, options.part, lambda job: (_STRICT.get(job.group, 1), job.at)
        ),
    }
    report(orders)
    honesty(jobs)
    if options.plot:
        options.plot.write_text(picture(orders))


def report(orders: dict[str, list[Job]]) -> None:
    """Print what each group waited in each order."""
    print(f"\n{'waiting':24}{'':22}{'p50':>9}{'p95':>9}{'max':>9}{'first':>9}  unstarted")
    for group in GROUPS:
        for name, jobs in orders.items():
            mine = [job for job in jobs if job.group == group]
            low, high, most = spread([job.waited for job in mine])
            never = sum(job.started is None for job in mine)
            first = mine[0].waited
            words = "".join(f"{span(one):>9}" for one in (low, high, most, first))
            print(f"{WORDS[group] if name == 'fair' else '':24}{name:22}{words}  {never or ''}")


def honesty(jobs: Sequence[Job]) -> None:
    """Print how what was foretold compares with what came true."""
    print(f"\n{'foretold against real':24}{'n':>6}{'off, p50':>12}{'off, p90':>12}  within")
    for group in GROUPS:
        pairs = [
            (at - told_at, job.started - told_at)
            for job in jobs
            if job.group == group and job.started is not None
            for told_at, at in job.foretold
        ]
        if not pairs:
            continue
        off = sorted(abs(told - real) for told, real in pairs)
        fair = sum(abs(told - real) <= max(SECONDS, 0.25 * real) for told, real in pairs)
        ninth = off[min(len(off) - 1, int(0.9 * len(off)))]
        print(
            f"{WORDS[group]:24}{len(pairs):>6}{span(statistics.median(off)):>12}{span(ninth):>12}"
            f"  {100 * fair / len(pairs):.0f} % (a quarter, or a task's length)"
        )


def spread(waited: Sequence[float]) -> tuple[float, float, float]:
    """Return median, 95th percentile and maximum."""
    found = sorted(waited)
    return (
        statistics.median(found),
        found[min(len(found) - 1, int(0.95 * len(found)))],
        found[-1],
    )


def span(seconds: float) -> str:
    """Return a length of time in words."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


def picture(orders: dict[str, list[Job]]) -> str:
    """Return the plot: from the median to the 95th percentile of each group in each order."""
    bands = []
    for group in GROUPS:
        for name, jobs in orders.items():
            low, high, _ = spread([job.waited for job in jobs if job.group == group])
            bands.append(Band(WORDS[group], name, low, high, f"{span(low)} to {span(high)}"))
    return draw("Waiting, from the median to the 95th percentile", bands)


if __name__ == "__main__":
    main()
