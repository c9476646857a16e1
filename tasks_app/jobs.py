"""The RQ entry points. A job is a bell: it names a pool, never a task."""

from tasks_app import workers


def hear(pool: str) -> None:
    """Claim at most one task of the pool and run it."""
    workers.current().hear(pool)


def poll(pool: str) -> None:
    """Ask upstreams about the pool's submitted work that is due."""
    workers.current().ask(pool)
