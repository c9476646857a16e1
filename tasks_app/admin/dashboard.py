"""The first page of the staff: how the service is, read once every few seconds for everybody."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from tasks_app.admin import now, plots, words
from tasks_app.core import observation
from tasks_app.core.observation import Backlog, Slots, WorkerSign
from tasks_app.gates.connection import RedisError
from tasks_app.gates.workers import LIFETIME
from tasks_app.lifecycle import ErrorCode, State
from tasks_app.models import Generator

SECONDS: Final = 5.0
_MOST_ROWS: Final = 40


@dataclass(frozen=True, slots=True)
class Facts:
    """What the plots are drawn from. Without Redis, slots and workers are None."""

    generators: list[Generator]
    states: dict[str, int]
    backlogs: list[Backlog]
    paces: dict[Any, observation.Pace]
    pools: list[str]
    slots: tuple[Slots, dict[Any, Slots]] | None
    workers: list[WorkerSign] | None


def context(request: HttpRequest, values: dict[str, Any]) -> dict[str, Any]:
    """Add the dashboard for those who may see tasks; others get their list of pages."""
    if request.user.has_perm("tasks_app.view_task"):
        facts = now.kept("dashboard", read, SECONDS)
        values["dashboard"] = {
            "tiles": _tiles(facts),
            "paces": plots.ranges(_paces(facts)),
            "slots": _slots(facts) if facts.slots else None,
            "queues": _queues(facts),
            "workers": _workers(facts) if facts.workers is not None else None,
            "sample": observation.SAMPLE,
        }
    return values


def read() -> Facts:
    """Read everything; each statement is bounded."""
    generators = list(Generator.objects.order_by("name")[:_MOST_ROWS])
    pools = observation.pools()[:_MOST_ROWS]
    try:
        slots, workers = observation.slots_in_use(generators), observation.workers(pools)
    except RedisError:
        slots = workers = None  # type: ignore[assignment]
    return Facts(
        generators=generators,
        states=_counts(),
        backlogs=observation.backlogs(),
        paces=observation.paces(),
        pools=pools,
        slots=slots,
        workers=workers,
    )


def _tiles(facts: Facts) -> list[dict[str, str]]:
    return [
        {
            "state": name,
            "word": str(word),
            "number": number_format(facts.states[name], use_l10n=True, force_grouping=True),
        }
        for name, word in words.STATES.items()
    ]


def _counts() -> dict[str, int]:
    """Return how many tasks are in each state; those ended on purpose are not called failed."""
    totals = observation.totals()
    found: dict[str, int] = {
        state.value: number for state, number in observation.states(totals).items()
    }
    canceled = sum(
        one.number for one in totals if one.state == State.FAILED and one.code == ErrorCode.CANCELED
    )
    return found | {
        State.FAILED.value: found[State.FAILED.value] - canceled,
        words.CANCELED: canceled,
    }


def _paces(facts: Facts) -> list[plots.Range]:
    rows = []
    for generator in facts.generators:
        pace = facts.paces.get(generator.pk)
        if pace is None:
            continue
        for word, kind, (middle, high) in (
            (_("waits"), "wait", pace.waited),
            (_("takes"), "take", pace.took),
        ):
            text = f"{words.span(middle)} – {words.span(high)}"
            rows.append(plots.Range(f"{generator.name} {word}", middle, high, text, kind))
    return rows


def _slots(facts: Facts) -> list[plots.Bar]:
    assert facts.slots is not None
    everything, each = facts.slots
    rows = [(_("all together"), everything)]
    rows += [(one.name, each[one.pk]) for one in facts.generators]
    return [
        plots.Bar(
            name,
            one.used / one.limit,
            f"{one.used} / {one.limit}",
            "full" if one.used >= one.limit else "",
        )
        for name, one in rows
    ]


def _queues(facts: Facts) -> list[plots.Bar]:
    depth: dict[str, int] = defaultdict(int)
    oldest: dict[str, float] = defaultdict(float)
    for one in facts.backlogs:
        depth[one.pool] += one.depth
        oldest[one.pool] = max(oldest[one.pool], one.oldest_seconds)
    most = max([10, *depth.values()])
    return [
        plots.Bar(
            pool,
            depth[pool] / most,
            f"{depth[pool]}, {words.span(oldest[pool])}" if depth[pool] else "0",
            "late" if oldest[pool] > 900 else "",
        )
        for pool in facts.pools
    ]


def _workers(facts: Facts) -> list[plots.Bar]:
    assert facts.workers is not None
    rows = [
        plots.Bar(
            f"{sign.pool}: {sign.name}",
            1 - sign.seconds / LIFETIME,
            _("%(span)s ago") % {"span": words.span(sign.seconds)},
            "late" if sign.seconds > LIFETIME / 2 else "",
        )
        for sign in facts.workers[:_MOST_ROWS]
    ]
    served = {sign.pool for sign in facts.workers}
    return rows + [
        plots.Bar(pool, 0, _("no worker"), "late") for pool in facts.pools if pool not in served
    ]
