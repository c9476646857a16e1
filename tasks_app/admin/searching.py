"""Prefix search among a million tasks: by what an index can find."""

import re
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet

_MOST_OWNERS: Final = 50
_ID = re.compile(r"[0-9a-f]{6,32}", re.IGNORECASE)


def id_range(term: str) -> tuple[UUID, UUID] | None:
    """Return the first and last id that begin with ``term``; None if no id can."""
    digits = term.strip().replace("-", "").lower()
    if not _ID.fullmatch(digits):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def owners(term: str) -> list[int]:
    """Return the ids of users whose name begins with ``term``."""
    found = get_user_model().objects.filter(username__startswith=term)
    return list(found.order_by("username").values_list("pk", flat=True)[:_MOST_OWNERS])


def search(rows: QuerySet[Any], term: str, id_field: str, owner_field: str) -> QuerySet[Any]:
    """Narrow rows to those whose id, or whose owner's name, begins with ``term``."""
    term = term.strip()
    if not term:
        return rows
    wanted = Q(**{f"{owner_field}__in": owners(term)})
    ids = id_range(term)
    if ids is not None:
        wanted |= Q(**{f"{id_field}__gte": ids[0], f"{id_field}__lte": ids[1]})
    return rows.filter(wanted)
