"""How far the numbers of staff may go: beyond these, sums and dates stop meaning anything."""

from typing import Final

from django.db.models import Q

from tasks_app.lifecycle import Priority

MOST_TIMEOUT: Final = 7 * 86_400
MOST_EXPECTED: Final = 86_400
MOST_INTERVAL: Final = 86_400
MOST_BURST: Final = 10_000
MOST_OPEN: Final = 1_000_000
MOST_RUNNING: Final = 100_000
MOST_FAILURES: Final = 1_000
LEAST_RATE: Final = 0.01
MOST_RATE: Final = 60_000
LEAST_WEIGHT: Final = 0.01
MOST_WEIGHT: Final = 1_000
MOST_COUNTED: Final = 100_000_000
MOST_PICTURES: Final = 1_000
MOST_SIDE: Final = 65_536
MOST_WAIT: Final = 86_400
LEAST_RESULT_DAYS: Final = 0.001
MOST_RESULT_DAYS: Final = 3_650


def limits(*, optional: bool = False) -> Q:
    """Return the condition on the limits of a plan, or of an account, which may leave them out."""
    condition = Q()
    for column, most in (
        ("max_open", MOST_OPEN),
        ("max_running", MOST_RUNNING),
        ("submit_interval", MOST_INTERVAL),
        ("submit_burst", MOST_BURST),
        ("weight", MOST_WEIGHT),
    ):
        condition &= _unless_null(column, Q((f"{column}__lte", most)), optional)
    return condition & _unless_null("weight", Q(weight__gte=LEAST_WEIGHT), optional)


def quotas() -> Q:
    """Return the condition on the limits that plans and accounts may leave out."""
    condition = Q()
    for column, least, most in (
        ("max_day", 0, MOST_COUNTED),
        ("max_month", 0, MOST_COUNTED),
        ("max_n", 1, MOST_PICTURES),
        ("max_side", 1, MOST_SIDE),
        ("max_wait", 1, MOST_WAIT),
        ("result_days", LEAST_RESULT_DAYS, MOST_RESULT_DAYS),
    ):
        within = Q((f"{column}__gte", least)) & Q((f"{column}__lte", most))
        condition &= _unless_null(column, within, True)
    known = sorted(priority.value for priority in Priority)
    return condition & _unless_null("max_priority", Q(max_priority__in=known), True)


def _unless_null(column: str, condition: Q, optional: bool) -> Q:
    return Q((f"{column}__isnull", True)) | condition if optional else condition
