"""Every key that Darkroom itself keeps in Redis. RQ's own keys begin with ``rq:``.

Keys of one slot decision share the hash tag ``{slots}``: one script touches them together.
"""

from collections.abc import Iterable
from uuid import UUID

from tasks_app import conf

SNAPSHOT_SCHEMA = 1


def _key(*parts: object) -> str:
    return ":".join((conf.get().redis_prefix, *(str(part) for part in parts)))


def slots_all() -> str:
    """Claim ids of everything that runs."""
    return _key("{slots}", "all")


def slots_generator(generator_id: UUID | str) -> str:
    """Claim ids that run on one generator."""
    return _key("{slots}", "generator", generator_id)


def slots_owner(owner_id: int) -> str:
    """Claim ids that run for one owner."""
    return _key("{slots}", "owner", owner_id)


def slots_rate(generator_id: UUID | str) -> str:
    """Theoretical arrival time of a generator's upstream rate, in milliseconds of Redis' clock."""
    return _key("{slots}", "rate", generator_id)


def slots_claiming() -> str:
    """Task ids that some claimer holds between taking slots and committing."""
    return _key("{slots}", "claiming")


def slots_full_owners() -> str:
    """Owners seen at their limit, so that claims may skip them in the database."""
    return _key("{slots}", "full")


def slots_epoch() -> str:
    """Present while the slot sets are known to be complete; gone when Redis lost them."""
    return _key("{slots}", "epoch")


def control(claim_id: UUID | str) -> str:
    """Present when the worker of this claim should stop."""
    return _key("control", claim_id)


def progress(task_id: UUID | str) -> str:
    """``attempt:percent`` of a running task."""
    return _key("progress", task_id)


def snapshot(task_id: UUID | str) -> str:
    """The document that answers polls of one task."""
    return _key("task", task_id, f"v{SNAPSHOT_SCHEMA}")


def snapshots(task_ids: Iterable[UUID]) -> list[str]:
    """Return those of many tasks."""
    before, after = _key("task", ""), f":v{SNAPSHOT_SCHEMA}"
    return [f"{before}{task_id}{after}" for task_id in task_ids]


def workers(pool: str) -> str:
    """Names of the pool's live workers, scored by when they count as gone."""
    return _key("workers", pool)


def figures(pool: str) -> str:
    """The figures of one pool, published by the ticker."""
    return _key("figures", pool)


def credential(digest: str) -> str:
    """Whose API key this digest is."""
    return _key("key", digest)


def credentials_used() -> str:
    """When API keys were last used, until the ticker writes it to the table."""
    return _key("keys-used")


def login_tries(digest: str) -> str:
    """How often somebody has tried to log in under one name from one address."""
    return _key("login", digest)


def counters() -> str:
    """What processes have counted; see ``metrics``."""
    return _key("counters")


def counted(process: str) -> str:
    """The last batch of counts that one process had added."""
    return _key("counted", process)


def processes() -> str:
    """Names of the processes that live, scored by when they count as gone."""
    return _key("processes")


def process(name: str) -> str:
    """What one process said of itself."""
    return _key("process", name)


def storage_refuses() -> str:
    """Present while the storage of results is known to refuse."""
    return _key("storage", "refuses")


def storage_looked() -> str:
    """Present for the seconds in which nobody else needs to look whether it still does."""
    return _key("storage", "looked")


def doctor() -> str:
    """What the doctor writes to see whether it can."""
    return _key("doctor")
