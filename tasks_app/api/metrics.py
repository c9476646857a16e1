"""`/metrics`: the figures of the whole service, whichever process answers.

Nothing is kept in this process: totals come from PostgreSQL, what processes count from Redis,
and what holds now is read now. A database that is away is told by a figure of its own, and the
figures that it would have given are left out.
"""

import hmac
import time
from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address, ip_address
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from tasks_app import bells, conf, metrics
from tasks_app.callbacks import outbox
from tasks_app.core import observation, pressure
from tasks_app.core.observation import Total
from tasks_app.gates import counters, refusals
from tasks_app.gates.connection import client
from tasks_app.maintenance import divert
from tasks_app.models import Generator

_FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-Ip")


def scrape(request: HttpRequest) -> HttpResponse:
    """Answer those who may know, in Prometheus' text format."""
    token = conf.get().metrics_token
    if not (_near(request) or _knows(request, token)):
        if not token:
            raise Http404
        return HttpResponse(
            "A token is needed.\n",
            status=401,
            content_type="text/plain",
            headers={"WWW-Authenticate": 'Bearer realm="metrics"'},
        )
    metrics.flush()  # what this very process has counted is in it
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Everything())
    return HttpResponse(
        generate_latest(registry),
        content_type=CONTENT_TYPE_LATEST,
        headers={"Cache-Control": "no-store"},
    )


def _near(request: HttpRequest) -> bool:
    """Whether the request comes from an allowed address, and not by way of a proxy there.

    Behind a proxy every request of the world comes from the proxy's address.
    """
    if any(request.headers.get(name) is not None for name in _FORWARDED):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in conf.get().metrics_allow)


def _knows(request: HttpRequest, token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if not token or scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode(), token.encode())


class _Everything(Collector):
    """All families, collected anew for each scrape."""

    def collect(self) -> Iterator[Metric]:
        """Ask each database in turn; what one cannot tell is left out."""
        begun = time.perf_counter()
        generators: list[Generator] | None = None
        families: list[Metric] = []
        try:
            generators = list(Generator.objects.order_by("name"))
            families = list(_of_tables(generators))
        except (DatabaseError, InterfaceError):
            connection.close()
        yield _gauge("database_up", "Whether PostgreSQL answered.", float(generators is not None))
        yield from families
        try:
            client().ping()
            families = list(_of_redis(generators))
            reached = 1.0
        except (RedisError, DatabaseError, InterfaceError):
            families, reached = [], 0.0
        yield _gauge("redis_up", "Whether Redis answered.", reached)
        yield from families
        seconds = time.perf_counter() - begun
        yield _gauge("scrape_seconds", "Seconds that collecting these figures took.", seconds)


# --- from the tables -----------------------------------------------------------------------


def _of_tables(generators: list[Generator]) -> Iterator[Metric]:
    names = {generator.pk: generator.name for generator in generators}
    counted = observation.totals()
    tasks = _family("tasks", "Tasks by state; ended ones since the beginning.", "state")
    for state, number in observation.states(counted).items():
        tasks.add_metric([state.value], number)
    yield tasks
    yield from _of_totals(counted, names)
    yield from _of_backlogs(names)
    yield from _of_pressure(generators)
    yield from _of_callbacks()
    paused = _family("generator_paused", "Whether a generator starts no tasks.", "generator")
    for generator in generators:
        paused.add_metric([generator.name], float(generator.paused))
    yield paused


def _of_totals(counted: list[Total], names: Mapping[UUID, str]) -> Iterator[Metric]:
    def name(total: Total) -> str:
        return names.get(total.generator_id, str(total.generator_id))

    submitted = _Counter("submissions", "Tasks accepted.", "generator")
    ended = _Counter("completions", "Tasks that ended.", "generator", "state", "code")
    again = _Counter("requeues", "Tasks put back into the queue.", "generator", "reason")
    events = _Counter("events", "Lines of history, by kind.", "generator", "kind")
    took = _Histogram(
        "completion_seconds",
        "Seconds from submission to the end.",
        metrics.TASK_BUCKETS,
        "generator",
        "state",
    )
    waited = _Histogram(
        "waiting_seconds",
        "Seconds from submission to the first start.",
        metrics.TASK_BUCKETS,
        "generator",
    )
    for total in counted:
        generator = name(total)
        events.add(total.number, generator, total.kind)
        if total.kind == "submitted":
            submitted.add(total.number, generator)
        elif total.kind == "requeued":
            again.add(total.number, generator, total.reason)
        elif total.state:
            ended.add(total.number, generator, total.state, total.code)
            took.add(total.le, total.number, total.seconds, generator, total.state)
        elif total.kind == "claimed" and total.le is not None:
            waited.add(total.le, total.number, total.seconds, generator)
    for one in (submitted, ended, again, events, took, waited):
        yield one.family()


def _of_backlogs(names: Mapping[UUID, str]) -> Iterator[Metric]:
    depth = _family("queue_depth", "Tasks that wait.", "pool", "generator")
    oldest = _family("queue_oldest_seconds", "Age of the task that waits longest.", "pool")
    ages = dict.fromkeys(observation.pools(), 0.0)
    for one in observation.backlogs():
        generator = names.get(one.generator_id, str(one.generator_id))
        depth.add_metric([one.pool, generator], one.depth)
        ages[one.pool] = max(ages.get(one.pool, 0.0), one.oldest_seconds)
    for pool, age in sorted(ages.items()):
        oldest.add_metric([pool], age)
    yield from (depth, oldest)


def _of_pressure(generators: list[Generator]) -> Iterator[Metric]:
    limit = _family("upstream_limit", "Tasks that an upstream is given at once.", "generator")
    shut = _family("upstream_shut", "Seconds until an upstream is asked again.", "generator")
    circuit = _family("upstream_circuit", "Whether the circuit is open: 1.", "generator")
    pressed = pressure.readings()
    for one in generators:
        reading = pressed.get(one.pk, pressure.Reading())
        own = one.max_running
        limit.add_metric([one.name], own if reading.limit is None else min(own, reading.limit))
        shut.add_metric([one.name], reading.seconds)
        circuit.add_metric([one.name], float(reading.circuit))
    crowded = _family("backlog_alert", "Whether too many tasks wait in a pool: 1.", "pool")
    full = set(divert.crowded_pools())
    for pool in sorted({*observation.pools(), *full}):
        crowded.add_metric([pool], float(pool in full))
    yield from (limit, shut, circuit, crowded)


def _of_callbacks() -> Iterator[Metric]:
    waiting, overdue = outbox.backlog()
    yield _gauge("callbacks_pending", "Callbacks that are not delivered yet.", waiting)
    yield _gauge("callbacks_overdue_seconds", "How long the oldest due callback waits.", overdue)


# --- from Redis ----------------------------------------------------------------------------


def _of_redis(generators: list[Generator] | None) -> Iterator[Metric]:
    yield from _of_instruments()
    refuses = float(refusals.known())
    yield _gauge("storage_refuses", "Whether the storage of results refuses.", refuses)
    memory = _family(
        "process_resident_memory_bytes", "Memory of each process.", "process", "host", "pid"
    )
    for process in counters.processes():
        memory.add_metric([process.kind, process.host, str(process.pid)], process.memory)
    yield memory
    if generators is None:
        return
    yield from _of_slots(generators)
    pools = observation.pools()
    workers = _family("workers", "Workers that gave a sign of life lately.", "pool")
    waiting = _family("bells_waiting", "Bells that no worker has heard yet.", "pool")
    alive = [sign.pool for sign in observation.workers([*pools, bells.CALLBACKS])]
    for pool in (*pools, bells.CALLBACKS):
        workers.add_metric([pool], alive.count(pool))
        waiting.add_metric([pool], bells.waiting(pool))
    yield from (workers, waiting)


def _of_slots(generators: list[Generator]) -> Iterator[Metric]:
    used = _family("slots_used", "Slots taken; generator '' is all together.", "generator")
    limit = _family("slots_limit", "Slots there are.", "generator")
    everything, each = observation.slots_in_use(generators)
    names = {generator.pk: generator.name for generator in generators}
    rows = {"": everything} | {names[pk]: one for pk, one in each.items()}
    for name, one in rows.items():
        used.add_metric([name], one.used)
        limit.add_metric([name], one.limit)
    yield from (used, limit)


def _of_instruments() -> Iterator[Metric]:
    samples = metrics.read()
    for instrument in metrics.INSTRUMENTS:
        found = samples[instrument.name]
        if not instrument.buckets:
            counter = _Counter(instrument.name, instrument.help, *instrument.labels)
            for sample in found:
                counter.add(sample.amount, *sample.labels)
            yield counter.family()
            continue
        histogram = _Histogram(
            instrument.name, instrument.help, instrument.buckets, *instrument.labels
        )
        for sample in found:
            if sample.part == metrics.SUM:
                histogram.add(None, 0, sample.amount / 1e6, *sample.labels)
            else:
                histogram.add(float(sample.part), sample.amount, 0.0, *sample.labels)
        yield histogram.family()


# --- families ------------------------------------------------------------------------------


PREFIX = "darkroom_"


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(PREFIX + name, text, value=value)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, text, labels=labels)


class _Counter:
    """Adds up amounts by their labels."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self._name, self._text, self._labels = name, text, labels
        self._amounts: dict[tuple[str, ...], int] = {}

    def add(self, amount: int, *labels: str) -> None:
        self._amounts[labels] = self._amounts.get(labels, 0) + amount

    def family(self) -> Metric:
        found = CounterMetricFamily(PREFIX + self._name, self._text, labels=self._labels)
        if not self._labels:
            found.add_metric([], self._amounts.get((), 0))
            return found
        for labels, amount in sorted(self._amounts.items()):
            found.add_metric(labels, amount)
        return found


class _Histogram:
    """Adds up numbers by their buckets; Prometheus wants them cumulative."""

    def __init__(self, name: str, text: str, bounds: tuple[float, ...], *labels: str) -> None:
        self._name, self._text, self._bounds, self._labels = name, text, bounds, labels
        self._numbers: dict[tuple[str, ...], dict[float, int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, bound: float | None, number: int, seconds: float, *labels: str) -> None:
        numbers = self._numbers.setdefault(labels, {})
        self._sums[labels] = self._sums.get(labels, 0.0) + seconds
        if bound is not None:
            # A bound of another version counts towards the next that there is.
            home = next(one for one in self._bounds if one >= bound)
            numbers[home] = numbers.get(home, 0) + number

    def family(self) -> Metric:
        found = HistogramMetricFamily(PREFIX + self._name, self._text, labels=self._labels)
        for labels, numbers in sorted(self._numbers.items()):
            so_far, buckets = 0, []
            for bound in self._bounds:
                so_far += numbers.get(bound, 0)
                buckets.append(("+Inf" if bound == float("inf") else repr(bound), float(so_far)))
            found.add_metric(labels, buckets, self._sums[labels])
        return found
