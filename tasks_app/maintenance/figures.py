"""Figures of each pool, published every two seconds: what reads add to waiting tasks."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db import connection

from tasks_app import conf
from tasks_app.core import claim, estimates, pressure
from tasks_app.core.pressure import Reading
from tasks_app.gates import figures, keys, refusals, slots, workers
from tasks_app.gates.figures import Figures, GeneratorFigures
from tasks_app.maintenance import foresight
from tasks_app.maintenance.due import known_pools
from tasks_app.models import Generator

_MOST_COUNTED: Final = 100_000
"""A backlog beyond this is told as this much; counting further would cost every tick."""


def publish_all() -> None:
    """Publish the figures of every pool. Raises ``RedisError`` or a database error."""
    generators = list(Generator.objects.all())
    used = slots.used([keys.slots_all(), *(keys.slots_generator(g.pk) for g in generators)])
    load = foresight.load(generators)
    seconds = {generator.pk: usual_seconds(generator) for generator in generators}
    refuses, pressed = refusals.known(), pressure.readings()
    for pool in sorted({*known_pools(), *(generator.pool for generator in generators)}):
        alive = workers.count(pool)
        seen = foresight.foresee(pool, alive, load)
        known = {
            str(generator.pk): GeneratorFigures(
                used=count,
                limit=claim.limit_in_force(generator.pk, generator.max_running, pressed),
                paused=generator.paused,
                seconds=seconds[generator.pk],
                rate_wait=round(_wait(generator, load.waits, pressed), 3),
                entry=seen.entries.get(generator.pk),
            )
            for generator, count in zip(generators, used[1:], strict=True)
        }
        figures.publish(
            Figures(
                pool=pool,
                pending=_pending(pool),
                workers=alive,
                used=used[0],
                limit=conf.get().limit_all,
                flows=estimates.samples(seen.starts),
                generators=known,
                storage_refuses=refuses,
                full_owners=sorted({*seen.full_owners, *slots.full_owners()}),
            )
        )


def _wait(
    generator: Generator, rates: Mapping[UUID, float], pressed: Mapping[UUID, Reading]
) -> float:
    """Return the seconds until the upstream may be asked again; 0: now."""
    reading = pressed.get(generator.pk)
    left = max(reading.seconds, 1.0) if reading is not None and reading.closed else 0.0
    return max(rates.get(generator.pk, 0.0), left)


def _pending(pool: str) -> int:
    """Return how many tasks could start but for slots, counted in one partial index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM tasks_app_task WHERE pool = %s "
            "AND state = 'pending' AND not_before IS NULL LIMIT %s) AS waiting",
            [pool, _MOST_COUNTED],
        )
        return int(cursor.fetchone()[0])


_USUAL = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM (
    SELECT extract(epoch FROM finished_at - started_at) AS seconds
    FROM tasks_app_task WHERE generator_id = %s AND state = 'success'
    ORDER BY finished_at DESC LIMIT 50
) AS recent
"""


def usual_seconds(generator: Generator) -> float:
    """Return the median of the last fifty durations, or the row's first guess."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, [generator.pk])
        (median,) = cursor.fetchone()
    return float(median) if median is not None else generator.expected_seconds
