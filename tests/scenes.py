"""What tests with real processes do and look at: submissions, states, histories, slots."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection

from tasks_app.core import submission
from tasks_app.core.submission import Wish
from tasks_app.gates import keys, slots
from tasks_app.lifecycle import LIVE
from tasks_app.models import Artifact, Attempt, Event, Generator, Task
from tasks_app.results.store import storage
from tests.processes import eventually


def submit(user: Any, generator: Generator, prompt: str, **params: Any) -> UUID:
    """Submit one task, as the API does; returns its id."""
    wish = Wish(generator=generator.name, params={"prompt": prompt, **params})
    return submission.submit(user, wish).task_id


def submit_many(user: Any, generator: Generator, prompts: Iterable[str], **params: Any) -> None:
    """Submit a task for each prompt."""
    for prompt in prompts:
        submit(user, generator, prompt, **params)


def state_of(task_id: UUID) -> str:
    """Return the state of a task and, if it failed, why: ``success``, ``failed/canceled``."""
    task = Task.objects.get(pk=task_id)
    return f"{task.state}/{task.error_code}" if task.error_code else task.state


def in_state(task_id: UUID, state: str) -> Callable[[], bool]:
    """Return a question for ``eventually``: is the task in this state?"""
    return lambda: state_of(task_id) == state


def wait_for_the_end(within: float = 60.0) -> Counter[str]:
    """Wait until no task is pending or running, and return how many ended how."""
    live = [state.value for state in LIVE]
    eventually(
        lambda: not Task.objects.filter(state__in=live).exists(),
        within=within,
        why="all tasks have ended",
    )
    return Counter(state_of(pk) for pk in Task.objects.values_list("pk", flat=True))


def ended() -> int:
    """Return how many tasks have ended."""
    return Task.objects.exclude(state__in=[state.value for state in LIVE]).count()


def wait_until_ended(number: int) -> None:
    """Wait until so many tasks have ended."""
    eventually(lambda: ended() >= number, why=f"{number} tasks have ended")


def history(task_id: UUID) -> list[str]:
    """Return the lines of a task's history, with the reason where there is one."""
    return [
        f"{event.kind}: {event.data['reason']}" if "reason" in event.data else event.kind
        for event in Event.objects.filter(task_id=task_id).order_by("id")
    ]


def outcomes_of(task_id: UUID) -> list[str]:
    """Return how each attempt of a task ended."""
    return [a.outcome for a in Attempt.objects.filter(task_id=task_id).order_by("number")]


def slots_taken() -> int:
    """Return how many slots of any scope are taken, in the Redis of this process."""
    scopes = [keys.slots_all()]
    scopes += [keys.slots_generator(pk) for pk in Generator.objects.values_list("pk", flat=True)]
    owners = Task.objects.values_list("owner_id", flat=True).distinct()
    return sum(slots.used([*scopes, *(keys.slots_owner(pk) for pk in owners)]))


def end_connections() -> int:
    """End every client's connection to this test's database but our own; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"  # the workers of autovacuum are nobody's to end
        )
        (number,) = cursor.fetchone()
    return int(number)


def reconnect() -> None:
    """Forget this process' connection: its server was killed."""
    connection.close()


def database_folder() -> str:
    """Return the folder of the socket of this test's PostgreSQL."""
    host = str(connection.settings_dict["HOST"])
    if not host.startswith("/"):
        pytest.skip("PostgreSQL is not reached by a Unix socket")
    return host


def has_its_files(task_id: UUID) -> bool:
    """Return whether a task has artifacts and all their files are there."""
    keys_of = [(a.storage_key, a.thumbnail_key) for a in Artifact.objects.filter(task_id=task_id)]
    return bool(keys_of) and all(storage().exists(key) for pair in keys_of for key in pair)


def results_folder() -> Path:
    """Return the folder of results; made if there is none."""
    place = storage()
    assert isinstance(place, FileSystemStorage)
    folder = Path(place.location)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def storage_refusing() -> Iterator[None]:
    """Let nothing be stored: where the folder of results was, there is a file."""
    folder = results_folder()
    kept = folder.with_name("kept")
    folder.rename(kept)
    folder.write_text("")
    try:
        yield
    finally:
        folder.unlink()
        kept.rename(folder)
