"""Which polls found something new: what a caller can change is told from what it cannot.

A caller that sends ``If-None-Match`` gets a 304. For one that does not, this process remembers
the last version it has told of each task: several processes may each call a version new once.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final
from uuid import UUID

from tasks_app import metrics

_REMEMBERED: Final = 10_000

_told: OrderedDict[UUID, str] = OrderedDict()
_lock = Lock()


def note(task_id: UUID, etag: str, *, not_modified: bool) -> None:
    """Count one answered poll: a few microseconds, in memory."""
    with _lock:
        before = _told.pop(task_id, None)
        _told[task_id] = etag
        if len(_told) > _REMEMBERED:
            _told.popitem(last=False)
    seen = "unchanged" if before == etag else "changed"
    metrics.count(metrics.POLLS, "not_modified" if not_modified else seen)


def refused() -> None:
    """Count one poll that was answered with a problem."""
    metrics.count(metrics.POLLS, "refused")


def clear() -> None:
    """Forget what was told (tests)."""
    _told.clear()
