"""What ticker or cron should long have purged, deleted or archived."""

from datetime import timedelta
from typing import Final

from tasks_app.core import results
from tasks_app.core.clock import database_now
from tasks_app.maintenance import archive
from tasks_app.maintenance.doctor.finding import Finding, ok, problem, warning
from tasks_app.models import Artifact

_LATE: Final = timedelta(days=1)
_MOST: Final = 10_000
_START: Final = (
    "Start a ticker (`manage.py tick`), or install deploy/cron/darkroom; once by hand: `manage.py "
)


def nothing_is_overdue() -> Finding:
    """Expired results, files whose deletion is owed, and tasks for the archive, for over a day."""
    now = database_now()
    refused = Artifact.objects.filter(removed_at__lte=now - _LATE, files_gone_at__isnull=True)
    files = refused.order_by("removed_at").values("task_id")[:_MOST]
    if number := len(files):
        return problem(
            f"{_count(number)} deleted results still have their files, first that of task "
            f"{files[0]['task_id']}.",
            "Run `manage.py purge_results` and look at what the storage says.",
        )
    if number := results.expired(now - _LATE).order_by().values("pk")[:_MOST].count():
        return warning(
            f"{_count(number)} results expired over a day ago and are still kept.",
            f"{_START}purge_results`.",
        )
    if number := archive.ripe(archive.cutoff() - _LATE).order_by().values("pk")[:_MOST].count():
        return warning(
            f"{_count(number)} tasks should have been archived over a day ago.",
            f"{_START}archive_tasks`.",
        )
    return ok("Nothing is overdue to be purged or archived.")


def _count(number: int) -> str:
    return f"{number:,}" if number < _MOST else f"{_MOST:,} or more"
