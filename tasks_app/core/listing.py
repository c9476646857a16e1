"""An owner's tasks, newest first: pages, filters, a search in prompts, and the neighbours of one.

Keyset paging on the time-ordered id: a page costs the same however deep it is. What no index
serves (the generator, words in a prompt, error codes) is looked for in at most ``WINDOW`` of the
owner's tasks per page; the cursor then says how far that went, and the next page goes on from
there. So a page may hold fewer tasks than asked for, or none, and still have a next one.

No full-text index: PostgreSQL's ``simple`` configuration takes a Chinese sentence for one word,
and an index of three-letter parts needs an extension that not every server has.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from tasks_app.core.queries import View, views
from tasks_app.lifecycle import ErrorCode, State
from tasks_app.models import ArchivedTask, Task

WINDOW: Final = 10_000
GLANCE: Final = 500
MAX_WORDS: Final = 8
_SLACK: Final = timedelta(days=1)
"""How wrong the clock of a host that makes ids may be before a search by time misses its tasks."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which of an owner's tasks to list. ``created_before`` itself is not among them."""

    states: tuple[State, ...] = ()
    errors: tuple[ErrorCode, ...] = ()
    generator: str | None = None
    text: str = ""
    """Words that all occur in the prompt, in any case and any order."""
    created_after: datetime | None = None
    created_before: datetime | None = None
    before: UUID | None = None
    limit: int = 20


def page(owner_id: int, wanted: Filter) -> tuple[list[View], UUID | None]:
    """Return a page of an owner's tasks and the cursor of the next one (None: the last page)."""
    reaches = [_reach(table, owner_id, wanted) for table in _TABLES]
    searched = bool(wanted.generator or wanted.text or wanted.errors)
    ids: list[UUID] = []
    last: UUID | None = None
    for window in (
        (min(GLANCE, WINDOW), WINDOW) if searched else (0,)
    ):  # mostly a glance finds enough
        last = _end_of(reaches, window) if window else None
        seen = (reach if last is None else reach.filter(pk__gte=last) for reach in reaches)
        ids = _newest((_matching(reach, wanted) for reach in seen), wanted.limit + 1)
        if len(ids) > wanted.limit or last is None:
            break
    cursor = ids[wanted.limit - 1] if len(ids) > wanted.limit else last
    return views(ids[: wanted.limit], owner_id, kept=False), cursor


def neighbours(task_id: UUID, owner_id: int) -> tuple[UUID | None, UUID | None]:
    """Return the next newer and the next older task of the same owner."""
    own = [table.objects.filter(owner_id=owner_id) for table in _TABLES]
    newer = _both(rows.filter(pk__gt=task_id).order_by("id").values_list("id")[:1] for rows in own)
    older = _both(rows.filter(pk__lt=task_id).order_by("-id").values_list("id")[:1] for rows in own)
    return min(newer, default=None), max(older, default=None)


def moment_of(task_id: UUID) -> datetime:
    """Return when an id was made: the first 48 bits of a UUIDv7 are milliseconds."""
    return _EPOCH + timedelta(milliseconds=task_id.int >> 80)


_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_LAST: Final = (1 << 48) - 1


def _first_id_of(moment: datetime) -> UUID:
    """Return the smallest id that can have been made then."""
    milliseconds = (moment - _EPOCH) // timedelta(milliseconds=1)
    return UUID(int=min(max(milliseconds, 0), _LAST) << 80)


_TABLES: Final[tuple[type[Task] | type[ArchivedTask], ...]] = (Task, ArchivedTask)
"""Both have the columns that a filter asks for."""

_Rows = QuerySet[Any]
"""Of either table."""


def _reach(table: type[Task] | type[ArchivedTask], owner_id: int, wanted: Filter) -> _Rows:
    """Return the part of the owner's tasks that an index in the order of ids leads to."""
    tasks: _Rows = table.objects.filter(owner_id=owner_id)
    if wanted.errors and len(wanted.states) == 1:  # errors are few: search among those only
        tasks = tasks.filter(state=wanted.states[0].value)
    if wanted.before:
        tasks = tasks.filter(pk__lt=wanted.before)
    if wanted.created_after:
        tasks = tasks.filter(pk__gte=_shifted(wanted.created_after, -_SLACK))
    if wanted.created_before:
        tasks = tasks.filter(pk__lt=_shifted(wanted.created_before, _SLACK))
    return tasks


def _shifted(moment: datetime, by: timedelta) -> UUID:
    try:
        return _first_id_of(moment + by)
    except OverflowError:  # the first and the last day of the calendar
        return _first_id_of(moment)


def _end_of(reaches: Sequence[_Rows], window: int) -> UUID | None:
    """Return where a search of so many tasks of each table ends; None if the tasks end there."""
    ends = _both(reach.order_by("-id").values_list("id")[window - 1 : window] for reach in reaches)
    return max(ends, default=None)


def _newest(found: Iterable[_Rows], limit: int) -> list[UUID]:
    """Return the newest ids of both tables."""
    ids = _both(rows.order_by("-id").values_list("id")[:limit] for rows in found)
    return sorted(ids, reverse=True)[:limit]


def _both(rows: Iterable[_Rows]) -> list[UUID]:
    """Return the ids of both, in one statement: a task that is moving is in just one of them."""
    first, *others = rows
    return [pk for (pk,) in first.union(*others, all=True)]


def _matching(tasks: _Rows, wanted: Filter) -> _Rows:
    if wanted.states:
        tasks = tasks.filter(state__in=[state.value for state in wanted.states])
    if wanted.errors:
        tasks = tasks.filter(error_code__in=[code.value for code in wanted.errors])
    if wanted.generator:
        tasks = tasks.filter(generator__name=wanted.generator)
    if wanted.created_after:
        tasks = tasks.filter(created_at__gte=wanted.created_after)
    if wanted.created_before:
        tasks = tasks.filter(created_at__lt=wanted.created_before)
    for word in words(wanted.text):
        tasks = tasks.filter(params__prompt__icontains=word)
    return tasks


def words(text: str) -> Sequence[str]:
    """Return the words of a search, as far as they count."""
    return text.split()[:MAX_WORDS]
