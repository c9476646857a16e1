"""What runs: workers, tickers, cron, and what waits or hangs without them."""

import fcntl
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Count, Min, Q, QuerySet

from tasks_app import bells, conf
from tasks_app.core import signs
from tasks_app.core.clock import database_now
from tasks_app.gates import workers
from tasks_app.generators import registry
from tasks_app.lifecycle import State
from tasks_app.maintenance.doctor.finding import Finding, ok, problem, warning
from tasks_app.models import Attempt, Generator, Sign, Task

_TICK_LATE: Final = timedelta(minutes=3)
_SWEEP_LATE: Final = timedelta(minutes=5)
_START: Final = "Start some: `manage.py worker POOL` (darkroom-worker@POOL:1)."


def workers_live() -> Finding:
    """Each pool of an offered generator needs a worker."""
    offered = Generator.objects.filter(enabled=True)
    pools = sorted(set(offered.values_list("pool", flat=True)))
    alive = {pool: workers.count(pool) for pool in pools}
    without = [pool for pool, number in alive.items() if not number]
    if without:
        return warning(f"No worker serves the pools: {', '.join(without)}.", _START)
    if not pools:
        return warning("No generator is offered.", "Make one in the admin, or offer one again.")
    unasked = [pool for pool in _far_pools(offered) if not workers.count(f"{pool}{bells.POLLS}")]
    if unasked:
        return warning(
            f"Nobody asks upstreams about what these pools submit: {', '.join(unasked)}.",
            "Start one: `manage.py worker POOL-polls` (darkroom-worker@POOL-polls:1).",
        )
    return ok("Workers: " + ", ".join(f"{pool} {number}" for pool, number in alive.items()) + ".")


def _far_pools(offered: QuerySet[Generator]) -> list[str]:
    """Return the pools with a generator that works elsewhere."""
    far = {name for name in registry.names() if registry.adapter_class(name).remote}
    return sorted(set(offered.filter(adapter__in=far).values_list("pool", flat=True)))


def nothing_waits_in_vain() -> Finding:
    """Tasks wait in pools that nobody serves."""
    pending = Task.objects.filter(state=State.PENDING.value)
    waiting = pending.values_list("pool").annotate(number=Count("pk"), first=Min("created_at"))
    vain = [(pool, number, first) for pool, number, first in waiting if not workers.count(pool)]
    if vain:
        now = database_now()
        words = [f"{number} in {pool} (oldest {_age(now, first)})" for pool, number, first in vain]
        return problem(f"Tasks wait and no worker serves them: {'; '.join(sorted(words))}.", _START)
    return ok("Every task that waits has workers.")


def ticker_lives() -> Finding:
    """A ticker leaves a sign once a minute."""
    return _lately(
        signs.TICK,
        _TICK_LATE,
        "sign of a ticker",
        "Start one: `manage.py tick` (darkroom-ticker). Until then cron rings once a minute.",
    )


def cron_sweeps() -> Finding:
    """Cron leaves a sign with each pass. Under `manage.py up` nobody needs one."""
    if _under_up():
        return ok("`manage.py up` keeps a ticker going, which sweeps: cron is not needed for it.")
    return _lately(
        signs.SWEEP,
        _SWEEP_LATE,
        "`sweep_tasks` by cron",
        "Install deploy/cron/darkroom, and look into its log; it repairs when no ticker does.",
    )


def _under_up() -> bool:
    """Whether `manage.py up` runs on this data: its lock is held as long as it lives."""
    try:
        with (settings.DATA / "up.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # nobody has ever started it here
    return False


def _lately(chore: str, late: timedelta, name: str, cure: str) -> Finding:
    newest = Sign.objects.filter(chore=chore).order_by("-at").first()
    if newest is None:
        return warning(f"There was no {name} within a day.", cure)
    age = database_now() - newest.at
    if age > late:
        return warning(f"The last {name} was {_words(age)} ago, on {newest.host}.", cure)
    return ok(f"The last {name} was {_words(age)} ago, on {newest.host}.")


def same_key() -> Finding:
    """Compare this host's secret key with that of every host that left a sign."""
    mine = signs.key_print()
    others = Sign.objects.exclude(key_print=mine).filter(at__gt=database_now() - _SWEEP_LATE)
    hosts = sorted(set(others.values_list("host", flat=True)))
    if hosts:
        return problem(
            f"DARKROOM_SECRET_KEY differs from the one that is in use on {', '.join(hosts)}: "
            "logins and links of one are refused by the other.",
            "Set the same key everywhere and restart the services.",
        )
    return ok("No host uses another secret key.")


def nothing_is_stuck() -> Finding:
    """What a sweep ends within a minute must not be there long after."""
    numbers = conf.get()
    now = database_now()
    silent = now - timedelta(seconds=3 * numbers.lease + 60)
    told = now - timedelta(seconds=3 * numbers.grace + 60)
    stuck = Attempt.objects.filter(ended_at__isnull=True).filter(
        Q(remote=False, revoked_at__isnull=True, heartbeat_at__lt=silent)
        | Q(revoked_at__lt=told, heartbeat_at__lt=silent)
    )
    late = Task.objects.filter(
        Q(state=State.RUNNING.value, deadline_at__lt=now - timedelta(minutes=3))
        | Q(state=State.PENDING.value, give_up_at__lt=now - timedelta(minutes=3))
    )
    attempts, tasks = stuck.count(), late.count()
    if attempts or tasks:
        return problem(
            f"{attempts} attempts are silent and {tasks} tasks are past their deadline.",
            "Run `manage.py sweep_tasks` and read what it says; then see to ticker and cron.",
        )
    return ok("Nothing is stuck.")


def _age(now: datetime, then: datetime) -> str:
    return _words(now - then)


def _words(age: timedelta) -> str:
    seconds = max(0, int(age.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
