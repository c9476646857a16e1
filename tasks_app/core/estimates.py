"""When what waits will start: the fair order, played forward over what is known now.

Pure functions over values. The same rules as the claim's (``fairness``, ``claim``): start tags,
shares, a clock per lane, turns spent on the owner's most urgent task, limits of all, generators
and owners, and the rates of upstreams. How long tasks take is what they are expected to cost.
"""

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

MOST_STARTS: Final = 3_000
"""Starts that are played forward; what waits behind them is told by their pace."""
_LEFT_OVER: Final = 0.1
"""Of its cost, what is thought to be left of a task that takes longer than expected."""


@dataclass(slots=True)
class Lane:
    """A generator's state in the pool. ``wait``: seconds until its upstream's rate allows one."""

    generator_id: UUID
    limit: int
    used: int = 0
    clock: float = 0.0
    shift: float = 0.0
    interval: float = 0.0
    burst: int = 1
    wait: float = 0.0
    remote: bool = False
    flows: list[tuple[float, int, int, "Flow"]] = field(default_factory=list)


@dataclass(slots=True)
class Flow:
    """A flow and its first tasks as (tag, expected seconds)."""

    id: UUID
    generator_id: UUID
    owner_id: int
    rank: int
    """0: the most urgent."""
    start: float
    factor: float
    """Weight times the factor of its priority."""
    tasks: deque[tuple[float, float]]


@dataclass(slots=True)
class Owner:
    """How many tasks an owner may run, and how many run."""

    limit: int
    used: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """Something that runs now, by what it holds, and the seconds until it is thought to end."""

    generator_id: UUID
    owner_id: int
    left: float
    local: bool = True


@dataclass(frozen=True, slots=True)
class Start:
    """A start that is to be expected: the how-manieth, in so many seconds."""

    flow_id: UUID
    generator_id: UUID
    tag: float
    position: int
    seconds: float
    virtual: float
    """Where in the pool's virtual time."""


def left_of(cost: float, elapsed: float) -> float:
    """Return the seconds that a running task is thought to take still."""
    return max(cost - elapsed, _LEFT_OVER * cost, 0.0)


class Play:
    """One pool, played forward."""

    def __init__(
        self,
        lanes: Iterable[Lane],
        flows: Iterable[Flow],
        owners: dict[int, Owner],
        running: Iterable[Running],
        *,
        free: int,
        workers: int,
        now: float,
    ) -> None:
        """``free``: slots that nobody holds; ``workers``: how many are idle; ``now``: virtual."""
        self._lanes = {lane.generator_id: lane for lane in lanes}
        self._owners = owners
        self._free, self._workers, self._now = free, workers, now
        self._time = 0.0
        self._count = itertools.count()
        self._parked: dict[int, list[Flow]] = defaultdict(list)
        self._of_owner: dict[tuple[int, UUID], list[Flow]] = defaultdict(list)
        self._ends: list[tuple[float, int, Running]] = []
        for flow in flows:
            self._of_owner[flow.owner_id, flow.generator_id].append(flow)
            self._push(flow)
        for one in running:
            heapq.heappush(self._ends, (one.left, next(self._count), one))

    def starts(self, most: int = MOST_STARTS) -> list[Start]:
        """Return what starts, in order, as far as it can be foreseen."""
        found: list[Start] = []
        while len(found) < most:
            flow = self._next()
            if flow is not None:
                found.append(self._start(flow, len(found) + 1))
            elif not self._wait():
                break
        return found

    def _push(self, flow: Flow) -> None:
        lane = self._lanes.get(flow.generator_id)
        if lane is not None and flow.tasks:
            heapq.heappush(lane.flows, (flow.start, flow.rank, next(self._count), flow))

    def _next(self) -> Flow | None:
        """Take out the flow whose turn it is; None when nothing may start now."""
        if self._free <= 0:
            return None
        best: Lane | None = None
        for lane in self._lanes.values():
            if self._open(lane) and self._tidy(lane) and (best is None or _first(lane, best)):
                best = lane
        return heapq.heappop(best.flows)[3] if best is not None else None

    def _open(self, lane: Lane) -> bool:
        rate = lane.interval <= 0 or lane.wait <= self._time
        return lane.used < lane.limit and rate and (lane.remote or self._workers > 0)

    def _tidy(self, lane: Lane) -> bool:
        """Put owners at their limit aside; returns whether somebody is left."""
        while lane.flows:
            flow = lane.flows[0][3]
            owner = self._owners[flow.owner_id]
            if flow.tasks and owner.used < owner.limit:
                return True
            heapq.heappop(lane.flows)
            if flow.tasks:
                self._parked[flow.owner_id].append(flow)
        return False

    def _start(self, turn: Flow, position: int) -> Start:
        lane, owner = self._lanes[turn.generator_id], self._owners[turn.owner_id]
        own = self._of_owner[turn.owner_id, turn.generator_id]
        flow = min((one for one in own if one.tasks), key=lambda one: one.rank, default=turn)
        if flow.rank >= turn.rank:
            flow = turn
        tag, cost = flow.tasks.popleft()
        begun = max(turn.start, lane.clock)
        lane.clock = begun
        lane.shift += max(0.0, self._now - begun - lane.shift)
        self._now = max(self._now, begun + lane.shift)
        turn.start = begun + cost / turn.factor
        self._hold(lane, owner, cost, turn.owner_id)
        self._push(turn)
        return Start(flow.id, flow.generator_id, tag, position, self._time, begun + lane.shift)

    def _hold(self, lane: Lane, owner: Owner, cost: float, owner_id: int) -> None:
        lane.used, owner.used = lane.used + 1, owner.used + 1
        self._free -= 1
        if not lane.remote:
            self._workers -= 1
        if lane.interval > 0:
            # The wait is measured to the moment that conforms: a burst is behind it.
            full = self._time - lane.interval * (lane.burst - 1)
            lane.wait = max(lane.wait, full) + lane.interval
        one = Running(lane.generator_id, owner_id, cost, local=not lane.remote)
        heapq.heappush(self._ends, (self._time + cost, next(self._count), one))

    def _wait(self) -> bool:
        """Go on to the next moment at which something may change; False: there is none."""
        rates = [
            lane.wait
            for lane in self._lanes.values()
            if lane.flows and lane.interval > 0 and lane.wait > self._time
        ]
        moments = rates + ([self._ends[0][0]] if self._ends else [])
        if not moments:
            return False
        self._time = max(self._time, min(moments))
        while self._ends and self._ends[0][0] <= self._time:
            self._release(heapq.heappop(self._ends)[2])
        return True

    def _release(self, one: Running) -> None:
        self._free += 1
        if one.local:
            self._workers += 1
        if one.generator_id in self._lanes:
            self._lanes[one.generator_id].used -= 1
        if one.owner_id in self._owners:
            self._owners[one.owner_id].used -= 1
        for flow in self._parked.pop(one.owner_id, ()):
            self._push(flow)


def _first(lane: Lane, other: Lane) -> bool:
    return lane.flows[0][0] + lane.shift < other.flows[0][0] + other.shift


Sample = tuple[float, int, float]
"""A task's number within its flow, the position of its start, the seconds until it."""


def samples(starts: Sequence[Start], most: int = 12) -> dict[str, list[Sample]]:
    """Return at most so many samples of each flow, with its first and its last start."""
    of_flow: dict[str, list[Sample]] = defaultdict(list)
    for one in starts:
        of_flow[str(one.flow_id)].append((one.tag, one.position, round(one.seconds, 1)))
    return {flow_id: _thinned(found, most) for flow_id, found in of_flow.items()}


def _thinned(found: list[Sample], most: int) -> list[Sample]:
    if len(found) <= most:
        return found
    step = (len(found) - 1) / (most - 1)
    return [found[round(index * step)] for index in range(most)]


def entry(starts: Sequence[Start], generator_id: UUID, virtual: float) -> tuple[int, float]:
    """Return position and seconds of a start for whoever comes in now with nothing waiting.

    ``virtual`` is where the lane is in the pool's virtual time: what starts there was first.
    """
    last = 0.0
    for one in starts:
        if one.virtual > virtual:
            return one.position, one.seconds
        last = one.seconds
    return len(starts) + 1, last


def interpolated(known: Sequence[Sample], tag: float) -> tuple[int, float]:
    """Return position and seconds of a task between, or behind, the samples of its flow."""
    first, last = known[0], known[-1]
    if tag <= first[0]:
        return first[1], first[2]
    for before, after in itertools.pairwise(known):
        if tag <= after[0]:
            part = (tag - before[0]) / max(after[0] - before[0], 1e-9)
            position = before[1] + part * (after[1] - before[1])
            return round(position), before[2] + part * (after[2] - before[2])
    behind = tag - last[0]
    span = last[0] - first[0]
    per_task = (last[1] - first[1]) / span if span > 0 else 1.0
    pace = (last[2] - first[2]) / span if span > 0 else last[2] / max(last[1], 1)
    return round(last[1] + behind * per_task), last[2] + behind * pace
