"""Tasks as somebody read them: what a change of their state compares, and what it needs to know.

A whole row is a task's document; a batch that ends hundreds of tasks reads a third of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, date
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import TruncDate

from tasks_app.lifecycle import TERMINAL, State
from tasks_app.models import Task


@dataclass(slots=True)
class Glance:
    """The part of a task's row that its ending needs; named as there."""

    pk: UUID
    state: str
    attempt_number: int
    version: int
    owner_id: int
    counted_on: date
    generator_id: UUID
    flow_id: UUID
    pool: str
    request_id: str
    callback_url: str
    callback_running: bool
    paid_by: UUID | None

    @property
    def terminal(self) -> bool:
        """Whether the state is final."""
        return State(self.state) in TERMINAL


Seen: TypeAlias = Task | Glance
"""A task as it was read: its whole row, or a part of it."""

# A day, and no moments: to read those takes longer than all the rest.
_COLUMNS: Final = tuple(
    TruncDate("created_at", tzinfo=UTC) if field.name == "counted_on" else field.name
    for field in fields(Glance)
)


def glances(tasks: QuerySet[Task]) -> list[Glance]:
    """Read these tasks, in their order."""
    rows: Iterable[tuple[Any, ...]] = tasks.values_list(*_COLUMNS)
    return [Glance(*row) for row in rows]
