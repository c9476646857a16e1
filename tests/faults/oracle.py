"""The judge of every scenario: a pure function over what was told, what was done, what is stored.

A scenario collects a ``History`` (``witness``) while it breaks things; ``judge`` then names every
promise that was broken. It knows nothing of the faults that were injected, except the names of
processes that died or were frozen, whose calls could not write that they stop.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

TERMINAL: Final = frozenset({"success", "failed", "timeout"})
_TERMINAL_EVENTS: Final = {
    "succeeded": "success",
    "failed": "failed",
    "canceled": "failed",
    "timed_out": "timeout",
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """A submission that was answered with 2xx: its idempotency key and the task it was told."""

    key: str
    task_id: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What one poll said, in the order of the answers."""

    task_id: str
    state: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the generator on its own clock; ``ended`` is None while it goes on."""

    key: str
    began: float
    ended: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A task as the tables have it. ``late``: seconds from its deadline to its end."""

    key: str
    task_id: str
    state: str
    owner: str
    generator: str
    attempts: int
    outcomes: Sequence[str] = ()
    events: Sequence[str] = ()
    late: float | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """An artifact: what the caller was told of it, and what a download gave (None: nothing)."""

    task_id: str
    told_bytes: int
    told_sha256: str
    got_bytes: int | None
    got_sha256: str | None
    opens: bool


@dataclass(frozen=True, slots=True)
class Count:
    """Something that is counted in one place and can be counted in the rows."""

    name: str
    counted: float
    rows: float


@dataclass(slots=True)
class History:
    """Everything that the judge needs to know about one scenario."""

    accepted: list[Accepted] = field(default_factory=list)
    sent: set[str] = field(default_factory=set)
    """Keys that were sent at least once, answered or not."""
    seen: list[Seen] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    limits: Mapping[str, int] = field(default_factory=dict)
    """Scope (``all``, ``generator NAME``, ``owner NAME``) -> calls allowed at once."""
    counts: list[Count] = field(default_factory=list)
    slots: Mapping[str, int] = field(default_factory=dict)
    """Slots that are still taken at the end, by scope."""
    lateness: float = 0.0
    """Seconds after its deadline until a task must have ended: one sweep, and what the scenario
    kept the sweep from working."""


def judge(history: History) -> list[str]:
    """Return every broken promise, as sentences; an empty list is an acquittal."""
    return [fault for rule in RULES for fault in rule(history)]


def one_task_per_key(history: History) -> Iterator[str]:
    """Each accepted key is exactly one task, in every answer and in the tables."""
    told: defaultdict[str, set[str]] = defaultdict(set)
    for one in history.accepted:
        told[one.key].add(one.task_id)
    stored: defaultdict[str, list[str]] = defaultdict(list)
    for row in history.rows:
        stored[row.key].append(row.task_id)
    for key, ids in told.items():
        if len(ids) != 1:
            yield f"key {key}: answered with {len(ids)} tasks"
        if sorted(stored[key]) != sorted(ids):
            yield f"key {key}: told {sorted(ids)}, stored {sorted(stored[key])}"
    for key, found in stored.items():
        if key not in history.sent:
            yield f"key {key}: nobody sent it"
        elif len(found) != 1:
            yield f"key {key}: {len(found)} tasks"


def live_and_archived_are_what_was_accepted(history: History) -> Iterator[str]:
    """Every accepted task is in the table of tasks or in the archive, never in both."""
    places = Counter(row.task_id for row in history.rows)
    for task_id in {one.task_id for one in history.accepted}:
        if places[task_id] != 1:
            yield f"task {task_id}: accepted, and stored {places[task_id]} times"


def one_ending(history: History) -> Iterator[str]:
    """Each task has ended, once, and its history says the same."""
    for row in history.rows:
        if row.state not in TERMINAL:
            yield f"task {row.task_id} ({row.key}): still {row.state}"
        if row.archived:
            continue  # its history is part of the archived document
        endings = [_TERMINAL_EVENTS[kind] for kind in row.events if kind in _TERMINAL_EVENTS]
        if endings != [row.state]:
            yield f"task {row.task_id} ({row.key}): is {row.state}, its history says {endings}"


def terminal_is_final(history: History) -> Iterator[str]:
    """A terminal state that a poll has seen never changes, and is what the table says."""
    ended = {row.task_id: row.state for row in history.rows}
    first: dict[str, str] = {}
    for one in history.seen:
        before = first.get(one.task_id)
        if before is not None and one.state != before:
            yield f"task {one.task_id}: was seen as {before}, then as {one.state}"
        elif one.state in TERMINAL:
            first.setdefault(one.task_id, one.state)
    for task_id, state in first.items():
        if ended.get(task_id) != state:
            yield f"task {task_id}: was seen as {state}, is stored as {ended.get(task_id)}"


def success_has_its_bytes(history: History) -> Iterator[str]:
    """What succeeded can be downloaded, is what its document says, and opens."""
    files: defaultdict[str, list[File]] = defaultdict(list)
    for one in history.files:
        files[one.task_id].append(one)
    for row in history.rows:
        if row.state == "success" and not files[row.task_id]:
            yield f"task {row.task_id}: success without a file"
    for one in history.files:
        told, got = (one.told_bytes, one.told_sha256), (one.got_bytes, one.got_sha256)
        if told != got:
            yield f"task {one.task_id}: told {told}, downloaded {got}"
        elif not one.opens:
            yield f"task {one.task_id}: its picture does not open"


def calls_fit_attempts(history: History) -> Iterator[str]:
    """No attempt calls the generator twice, and exactly one attempt of a success succeeded."""
    calls = Counter(call.key for call in history.calls)
    for row in history.rows:
        if calls[row.key] > row.attempts:
            yield f"task {row.task_id}: {calls[row.key]} calls in {row.attempts} attempts"
        if row.archived:
            continue  # attempts are gone with the task
        succeeded = list(row.outcomes).count("success")
        if succeeded != (row.state == "success"):
            yield f"task {row.task_id}: {row.state} with {succeeded} successful attempts"
    known = {row.key for row in history.rows}
    for key in calls.keys() - known:
        yield f"key {key}: the generator was called for no task"


def limits_hold(history: History) -> Iterator[str]:
    """There were never more calls at once than allowed, by the generator's own clock."""
    rows = {row.key: row for row in history.rows}
    scopes: defaultdict[str, list[Call]] = defaultdict(list)
    for call in history.calls:
        row = rows.get(call.key)
        scopes["all"].append(call)
        if row is not None:
            scopes[f"generator {row.generator}"].append(call)
            scopes[f"owner {row.owner}"].append(call)
    for scope, limit in history.limits.items():
        most = most_at_once(scopes[scope])
        if most > limit:
            yield f"{scope}: {most} calls at once, allowed are {limit}"


def deadlines_hold(history: History) -> Iterator[str]:
    """Nothing goes on for longer than its deadline and one sweep."""
    for row in history.rows:
        if row.late is not None and row.late > history.lateness:
            yield (
                f"task {row.task_id}: ended {row.late:.1f} s after its deadline, "
                f"allowed are {history.lateness:.1f} s"
            )


def counters_are_true(history: History) -> Iterator[str]:
    """What is counted equals what the rows say."""
    for count in history.counts:
        if count.counted != count.rows:
            yield f"{count.name}: counted {count.counted:g}, the rows say {count.rows:g}"


def slots_are_given_back(history: History) -> Iterator[str]:
    """No slot is taken when nothing runs."""
    for scope, taken in history.slots.items():
        if taken:
            yield f"{scope}: {taken} slots are taken, and nothing runs"


RULES: Final = (
    one_task_per_key,
    live_and_archived_are_what_was_accepted,
    one_ending,
    terminal_is_final,
    success_has_its_bytes,
    calls_fit_attempts,
    limits_hold,
    deadlines_hold,
    counters_are_true,
    slots_are_given_back,
)


def most_at_once(calls: Iterable[Call]) -> int:
    """Return how many calls there were at once, at most; ends come before starts."""
    changes: list[tuple[float, int]] = []
    for call in calls:
        changes.append((call.began, 1))
        if call.ended is not None:
            changes.append((max(call.began, call.ended), -1))
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most
