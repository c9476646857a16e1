"""Counts: what counts for today is what the tasks say."""

from tasks_app.core import quotas
from tasks_app.core.clock import database_now
from tasks_app.maintenance import counts
from tasks_app.maintenance.doctor.finding import Finding, ok, warning


def counts_are_right() -> Finding:
    """Compare today's counts of the busiest users with their tasks."""
    found = counts.wrong(quotas.day_of(database_now()))
    if not found:
        return ok("What counts for today is what the tasks say.")
    first = found[0]
    return warning(
        f"The counts of {len(found)} users are not those of their tasks, first of user "
        f"{first.owner_id}: {first.counted} instead of {first.tasks}.",
        "Run `manage.py recount_tasks`.",
    )
