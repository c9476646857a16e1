"""How far the numbers of staff may go: beyond these, sums and dates stop meaning anything."""

from typing import Final

from django.db.models import Q

MOST_TIMEOUT: Final = 7 * 86_400
MOST_EXPECTED: Final = 86_400
MOST_INTERVAL: Final = 86_400
MOST_BURST: Final = 10_000
MOST_OPEN: Final = 1_000_000
MOST_RUNNING: Final = 100_000
MOST_FAILURES: Final = 1_000
LEAST_WEIGHT: Final = 0.01
MOST_WEIGHT: Final = 1_000


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


def _unless_null(column: str, condition: Q, optional: bool) -> Q:
    return Q((f"{column}__isnull", True)) | condition if optional else condition
