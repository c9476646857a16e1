"""How long statements, locks and idle transactions may take, by what a process is for; its pool.

PostgreSQL enforces the times, so that a process that hangs, or a query that nobody expected,
cannot keep rows, connections and dead rows of others for long. What must not be cut off in the
middle of good work is exempt: migrations rewrite tables, archiving counts them. They still may
not wait long for a lock, as everybody else would wait behind them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from aigc_site import env

MOST_POOL: Final = 256
_KEPT: Final = 60


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds; 0 is no limit. ``idle``: a transaction in which nothing happens."""

    statement: float
    lock: float
    idle: float

    def options(self) -> str:
        """Return them as libpq's ``options``."""
        return (
            f"-c statement_timeout={self.statement * 1000:.0f} "
            f"-c lock_timeout={self.lock * 1000:.0f} "
            f"-c idle_in_transaction_session_timeout={self.idle * 1000:.0f}"
        )


TIMES: Final[Mapping[str, Times]] = {
    "web": Times(statement=15, lock=10, idle=15),
    "worker": Times(statement=15, lock=10, idle=15),
    "ticker": Times(statement=30, lock=10, idle=15),
    "command": Times(statement=60, lock=10, idle=60),
    "archive": Times(statement=0, lock=10, idle=60),
    "migration": Times(statement=0, lock=10, idle=0),
}
_ROLES: Final = {
    "web": "web",
    "worker": "worker",
    "tick": "ticker",
    "sweep_tasks": "ticker",
    "archive_tasks": "archive",
    "purge_results": "archive",
    "migrate": "migration",
}


def role(arguments: Sequence[str]) -> str:
    """Return what a process is for, by its command line; what is not ``manage.py`` serves the web.

    So a web server of any kind has the strictest times.
    """
    if len(arguments) < 2 or PurePath(arguments[0]).name not in ("manage.py", "darkroom"):
        return "web"
    return _ROLES.get(arguments[1], "command")


def options(arguments: Sequence[str], given: str) -> str:
    """Return libpq's ``options`` for a process; what DATABASE_URL has of its own comes last."""
    own = f"{TIMES[role(arguments)].options()} -c timezone=UTC"
    return f"{own} {given}".strip()


def pool(arguments: Sequence[str], size: int, kept: int | None) -> dict[str, Any]:
    """Return how long connections are kept and, for the web, the pool that its threads share.

    ``size`` is DARKROOM_DB_POOL. With 0, each thread keeps a connection for ``kept`` seconds
    (DARKROOM_DB_CONN_MAX_AGE, None: not given), and it costs nothing to get one. Workers and
    tickers have one for each of their few threads in any case. Raises ``BadSetting`` for numbers
    that make no sense.
    """
    if size == 0:
        return {"CONN_MAX_AGE": _KEPT if kept is None else kept}
    if kept is not None:
        raise env.BadSetting(
            "DARKROOM_DB_POOL and DARKROOM_DB_CONN_MAX_AGE are both set: "
            "a pool keeps its connections by itself, so unset one of them."
        )
    if size == 1:
        raise env.BadSetting("DARKROOM_DB_POOL is 1: set it to at least 2, or to 0 for no pool.")
    if role(arguments) != "web":
        return {"CONN_MAX_AGE": _KEPT}
    # A request that waits longer than this for a connection is refused, not kept.
    shared = {"min_size": 1, "max_size": size, "timeout": 5.0, "max_idle": 60.0}
    return {"CONN_MAX_AGE": 0, "OPTIONS": {"pool": shared}}


def refuse_unused(size: int, threads: int) -> None:
    """Raise ``BadSetting`` when the pool has more connections than threads could ever use."""
    if size > threads:
        raise env.BadSetting(
            f"DARKROOM_DB_POOL is {size}, but a web process has {threads} threads: "
            "set it to at most --threads; more connections would never be used."
        )
