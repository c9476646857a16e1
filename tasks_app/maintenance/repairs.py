"""What the steps of the sweep share."""

import logging
from collections.abc import Callable
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection
from redis.exceptions import RedisError

from tasks_app.maintenance.report import Report

logger = logging.getLogger(__name__)


def repair(
    kind: str, task_id: UUID, action: Callable[[], object], report: Report, dry_run: bool
) -> None:
    """Carry one repair out; one that fails is told with its task, and the next goes on.

    An action that returns False says that there was nothing to do any more.
    """
    try:
        if dry_run or action() is not False:
            report.add(kind)
    except (RedisError, OperationalError, InterfaceError):
        raise  # away: the same would happen to all the others
    except Exception as error:
        logger.exception("task %s: %s: cannot be repaired", task_id, kind)
        report.troubles.append(f"{kind}: task {task_id}: {type(error).__name__}")


def database_age() -> float:
    """Return for how many seconds the database server has been up."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())")
        (age,) = cursor.fetchone()
    return float(age)
