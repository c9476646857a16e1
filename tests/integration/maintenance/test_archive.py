"""Archiving: everything goes along, everybody still finds it, nothing is lost or counted twice."""

import json
from datetime import timedelta
from io import StringIO
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import IntegrityError, connection, connections, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client

from tasks_app.core import (
    access,
    archived,
    cancellation,
    listing,
    outcomes,
    queries,
    results,
    staff,
)
from tasks_app.core.claim import holder_of
from tasks_app.core.errors import Gone, NotFound
from tasks_app.core.listing import Filter
from tasks_app.core.observation import states, totals
from tasks_app.gates import slots
from tasks_app.gates.connection import client as redis
from tasks_app.lifecycle import ErrorCode, EventKind, State
from tasks_app.maintenance import archive
from tasks_app.maintenance.archive import Unequal
from tasks_app.models import (
    ArchivedTask,
    Artifact,
    Attempt,
    Callback,
    Event,
    Generator,
    IdempotencyKey,
    Task,
    Webhook,
)
from tests.integration.helpers import artifacts, claimed, submit, waits_for
from tests.processes import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

AGE = timedelta(days=31)


def finished(user: Any, *, days: float = 31, **fields: Any) -> Task:
    """A success that ended so long ago and whose result has been purged."""
    task = submit(user, **fields)
    outcomes.succeeded(claimed().attempt, artifacts(task.pk))
    return aged(task, days)


def failed(user: Any, *, days: float = 31, **fields: Any) -> Task:
    task = submit(user, **fields)
    outcomes.failed(claimed().attempt, ErrorCode.INTERNAL, "broke", retryable=False)
    return aged(task, days)


def aged(task: Task, days: float) -> Task:
    """Move everything about a task into the past; a result that it has is purged."""
    age = timedelta(days=days)
    Task.objects.filter(pk=task.pk).update(
        created_at=F("created_at") - age, finished_at=F("finished_at") - age
    )
    Task.objects.filter(pk=task.pk, state="success").update(
        result_expires_at=Now() - age, result_removed_at=Now() - age
    )
    Artifact.objects.filter(task=task).update(removed_at=Now() - age, files_gone_at=Now() - age)
    task.refresh_from_db()
    return task


def move(**options: Any) -> int:
    return sum(moved.tasks for moved in archive.archive(**options))


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("archive_tasks", *arguments, stdout=out)
    return out.getvalue()


# --- what is moved -------------------------------------------------------------------------


def test_whatever_points_at_a_task_goes_along_or_is_waited_for() -> None:
    pointing = {
        related.related_model
        for model in (Task, *archive.ALONG)
        for related in model._meta.related_objects
    }
    assert pointing == {*archive.ALONG, *archive.WAITED_FOR}


def test_a_task_goes_with_its_whole_history(alice: Any, sleeper: Generator) -> None:
    task = finished(alice, metadata={"order": 7})
    before = {
        model: list(model.objects.filter(task=task).order_by("pk").values())
        for model in (Event, Attempt, Artifact)
    }
    row = Task.objects.filter(pk=task.pk).values().get()
    assert command() == "tasks: 1\n"
    assert not Task.objects.exists()
    for model in (Event, Attempt, Artifact):
        assert not model.objects.exists()
    back = archived.task(task.pk)
    assert back is not None
    assert {name: getattr(back, name) for name in row} == row
    assert [plain(one) for one in archived.events(task.pk)] == before[Event]
    assert [plain(one) for one in archived.attempts(task.pk)] == before[Attempt]
    assert [plain(one) for one in archived.artifacts(back)] == before[Artifact]


def plain(row: Any) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_nothing_that_is_not_ripe_is_moved(alice: Any, sleeper: Generator) -> None:
    finished(alice, days=29)
    kept = finished(alice)
    Task.objects.filter(pk=kept.pk).update(result_removed_at=None)
    owed = finished(alice)
    Artifact.objects.filter(task=owed).update(files_gone_at=None)
    heard = failed(alice)
    attempt = Attempt.objects.get(task=heard)
    Webhook.objects.create(attempt=attempt, received_at=Now(), body=b"{}")
    telling = failed(alice)
    Callback.objects.create(
        owner=alice,
        task_id=telling.pk,
        event="task.failed",
        url="https://example.com",
        lane="example.com:443",
        body=b"{}",
        created_at=Now(),
        next_attempt_at=Now(),
    )
    submit(alice)
    executing = claimed()
    cancellation.cancel(executing.task.pk, alice.pk)
    aged(executing.task, 31)
    submit(alice)
    claimed()
    submit(alice)
    assert move() == 0
    Task.objects.filter(pk=kept.pk).update(result_removed_at=Now())
    Artifact.objects.update(files_gone_at=Now())
    Webhook.objects.all().delete()
    Callback.objects.update(state="delivered", next_attempt_at=None, ended_at=Now())
    outcomes.stopped(executing.attempt)
    assert command("--dry-run") == "tasks: 5\n"
    assert Task.objects.count() == 8
    assert move() == 5
    assert sorted(Task.objects.values_list("state", flat=True)) == ["pending", "running", "success"]


def test_batches_limits_and_bounds(alice: Any, sleeper: Generator) -> None:
    for days in (40, 39, 38, 37, 36):
        failed(alice, days=days)
    assert [moved.tasks for moved in archive.archive(batch=2, limit=3)] == [2, 1]
    assert ArchivedTask.objects.count() == 3
    assert move(seconds=-1) == 0
    assert command("--batch", "1", "--limit", "1") == "tasks: 1\n"
    newest = Task.objects.get()
    assert newest.finished_at is not None
    assert newest.finished_at > max(ArchivedTask.objects.values_list("finished_at", flat=True))
    assert command() == "tasks: 1\n"
    assert command() == "nothing to do\n"


def test_tasks_that_ended_at_the_same_instant_are_not_skipped(
    alice: Any, sleeper: Generator
) -> None:
    for _ in range(5):
        failed(alice)
    Task.objects.update(finished_at=Now() - AGE)
    assert [moved.tasks for moved in archive.archive(batch=2)] == [2, 2, 1]


# --- nothing is lost -----------------------------------------------------------------------


def test_a_batch_that_does_not_add_up_is_rolled_back(alice: Any, sleeper: Generator) -> None:
    failed(alice)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NULL; END $$;"
            "CREATE TRIGGER swallow BEFORE INSERT ON tasks_app_archivedtask "
            "FOR EACH ROW EXECUTE FUNCTION swallow();"
        )
    try:
        with pytest.raises(Unequal):
            move()
        assert (Task.objects.count(), Event.objects.count()) == (1, 3)
        with pytest.raises(SystemExit) as ended:
            command()
        assert ended.value.code == 1
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION swallow CASCADE")
    assert move() == 1


def test_two_archivers_share_the_work(alice: Any, sleeper: Generator) -> None:
    """The first holds its batch open: the second takes what is left and waits for nobody."""
    for _ in range(4):
        failed(alice)
    with transaction.atomic():
        first = archive._pick(archive.cutoff(), None, 2)
        other = _elsewhere(move)
        archive._move([pk for _, pk in first])
    assert other == 2
    assert ArchivedTask.objects.count() == 4
    assert not Task.objects.exists()


def test_of_archiver_and_writer_that_meet_one_fails_whole(alice: Any, sleeper: Generator) -> None:
    """A line of history is written and not committed when its task is moved."""
    task = failed(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.create(task=task, at=Now(), kind=EventKind.STAFF_ACTION.value)
        assert _elsewhere(move) == 1
    assert [event.kind for event in archived.events(task.pk)] == ["submitted", "claimed", "failed"]
    assert not Event.objects.exists()


def test_a_line_written_since_the_batch_was_picked_goes_along(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = failed(alice)
    pick = archive._pick

    def picked_late(*place: Any) -> Any:
        _elsewhere(
            lambda: Event.objects.create(task=task, at=Now(), kind=EventKind.STAFF_ACTION.value)
        )
        return pick(*place)

    monkeypatch.setattr(archive, "_pick", picked_late)
    assert move(limit=1) == 1
    assert [event.kind for event in archived.events(task.pk)][-1] == "staff_action"


def executing(user: Any) -> Attempt:
    """An execution whose task ended long ago, and which nobody has seen stop."""
    task = submit(user)
    attempt = claimed().attempt
    cancellation.cancel(task.pk, user.pk)
    aged(task, 31)
    return Attempt.objects.select_related("task").get(pk=attempt.pk)


def long_silent(attempt: Attempt) -> Attempt:
    """The same while nobody has told it to stop."""
    Attempt.objects.filter(pk=attempt.pk).update(revoked_at=None)
    return Attempt.objects.select_related("task").get(pk=attempt.pk)


@pytest.mark.parametrize("end", [outcomes.stopped, outcomes.lost])
def test_the_line_of_a_sweep_that_has_not_committed_keeps_its_task(
    alice: Any, sleeper: Generator, end: Any
) -> None:
    """It writes about ended tasks only with the end of an execution, which the archive awaits."""
    attempt = long_silent(executing(alice))
    with transaction.atomic():
        end(attempt)
        assert attempt.task.events.filter(kind="attempt_ended").exists()
        assert _elsewhere(move) == 0
    assert move() == 1
    assert [event.kind for event in archived.events(attempt.task_id)][-1] == "attempt_ended"


@pytest.mark.parametrize("end", [outcomes.stopped, outcomes.lost])
def test_a_sweep_that_comes_after_the_archive_writes_nothing(
    alice: Any, sleeper: Generator, end: Any
) -> None:
    """It read the attempt before another sweep ended it and the archive took it away."""
    attempt = long_silent(executing(alice))
    outcomes.stopped(attempt)
    assert move() == 1
    end(attempt)
    assert not Event.objects.exists()
    assert [event.kind for event in archived.events(attempt.task_id)].count("attempt_ended") == 1


def test_a_word_of_staff_about_a_task_that_is_just_being_archived_breaks_nothing(
    alice: Any, sleeper: Generator, caplog: pytest.LogCaptureFixture
) -> None:
    """Its slots were free already, and the archive was first."""
    task = failed(alice)
    slots.extend(holder_of(Attempt.objects.select_related("task").get(task=task)))
    freed: list[bool] = []

    def release() -> None:
        try:
            freed.append(staff.release_slots(task.pk, "root"))
        finally:
            connections.close_all()

    releasing = Thread(target=release)
    with transaction.atomic():
        found = archive._pick(archive.cutoff(), None, 1)
        archive._move([pk for _, pk in found])
        releasing.start()
        eventually(lambda: waits_for("transactionid"))
    releasing.join(20)
    assert freed == [True]
    assert not Event.objects.exists()
    assert f"task {task.pk} is archived: release_slots by root" in caplog.text


def _elsewhere(action: Any) -> Any:
    """Do it on another connection, and wait for it."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(action())
        finally:
            connections.close_all()

    thread = Thread(target=run)
    thread.start()
    thread.join(20)
    return found[0]


def test_totals_stay_exact(alice: Any, sleeper: Generator) -> None:
    finished(alice)
    failed(alice)
    before, counted = states(totals()), totals()
    assert move() == 2
    assert states(totals()) == before
    assert totals() == counted
    assert before[State.SUCCESS] == before[State.FAILED] == 1


# --- who still finds it --------------------------------------------------------------------


def poll(user: Any, address: str) -> Any:
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client.get(address)


def forget() -> None:
    redis().flushdb()
    queries.clear_caches()


def test_an_archived_task_answers_as_before(alice: Any, bob: Any, sleeper: Generator) -> None:
    task = finished(alice)
    forget()
    addresses = [f"/v1/tasks/{task.pk}", f"/v1/tasks/{task.pk}/events", "/v1/tasks"]
    before = [json.loads(poll(alice, address).content) for address in addresses]
    assert before[0]["result"]["artifacts"] == []
    move()
    forget()
    assert [json.loads(poll(alice, address).content) for address in addresses] == before
    assert poll(alice, f"/v1/tasks/{task.pk}").status_code == 200  # from the snapshot, now
    assert poll(alice, f"/tasks/{task.pk}").status_code == 200
    for address in (*addresses[:2], f"/tasks/{task.pk}"):
        assert poll(bob, address).status_code == 404
    assert json.loads(poll(bob, "/v1/tasks").content)["items"] == []


def test_its_files_stay_gone_and_not_unknown(alice: Any, bob: Any, sleeper: Generator) -> None:
    task = finished(alice)
    artifact = Artifact.objects.get(task=task)
    move()
    assert poll(alice, f"/v1/artifacts/{artifact.pk}").status_code == 410
    assert poll(bob, f"/v1/artifacts/{artifact.pk}").status_code == 404
    assert results.remove_own(task.pk, alice.pk) is False
    with pytest.raises(Gone):
        results.own_file(artifact.pk, alice.pk)
    with pytest.raises(NotFound):
        access.own_artifact(UUID(int=artifact.pk.int + 1), alice.pk)


def test_a_key_finds_its_archived_task_again(alice: Any, sleeper: Generator) -> None:
    from tasks_app.core import submission
    from tasks_app.core.submission import Wish

    wish = Wish("sleeper", {"prompt": "once", "seconds": 0.0}, idempotency_key="once")
    first = submission.submit(alice, wish)
    outcomes.failed(claimed().attempt, ErrorCode.INTERNAL, "", retryable=False)
    aged(Task.objects.get(), 31)
    move()
    forget()
    again = submission.submit(alice, wish)
    assert (again.task_id, again.reused) == (first.task_id, True)
    assert queries.view(again.task_id, alice.pk).document["status"] == "failed"
    assert IdempotencyKey.objects.count() == 1


def test_an_archived_task_can_be_retried_and_not_canceled(alice: Any, sleeper: Generator) -> None:
    task = failed(alice)
    move()
    client = Client(headers={"host": "localhost"})
    client.force_login(alice)
    assert cancellation.cancel(task.pk, alice.pk) is False
    answer = client.post(f"/v1/tasks/{task.pk}/retry", content_type="application/json")
    assert answer.status_code == 202, answer.content
    assert Task.objects.get().retry_of == task.pk
    assert Task.objects.get().params == task.params


def test_pages_go_from_live_to_archived_tasks(alice: Any, bob: Any, sleeper: Generator) -> None:
    tasks = [failed(alice, days=days) for days in (40, 39, 1, 38, 2)]
    failed(bob, days=40)
    ids = sorted((task.pk for task in tasks), reverse=True)
    move()
    assert ArchivedTask.objects.count() == 4
    for limit in (1, 2, 3, 5):
        assert _all_pages(alice, limit=limit) == ids
        assert _all_pages(alice, limit=limit, states=(State.FAILED,)) == ids
        assert _all_pages(alice, limit=limit, generator="sleeper", text="picture") == ids
    assert _all_pages(alice, limit=2, states=(State.SUCCESS,)) == []
    for newer, task_id, older in zip([None, *ids], ids, [*ids[1:], None], strict=False):
        assert listing.neighbours(task_id, alice.pk) == (newer, older)


def _all_pages(user: Any, **wanted: Any) -> list[UUID]:
    found: list[UUID] = []
    cursor = None
    for _ in range(20):
        views, cursor = listing.page(user.pk, Filter(before=cursor, **wanted))
        found += [UUID(view.document["task_id"]) for view in views]
        if cursor is None:
            return found
    raise AssertionError("pages without end")


def test_a_search_ends_where_its_windows_end(
    alice: Any, sleeper: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WINDOW", 2)
    ids = sorted((failed(alice, days=days).pk for days in (40, 1, 39, 2, 38, 3)), reverse=True)
    move()
    assert _all_pages(alice, text="picture", limit=5) == ids
    assert _all_pages(alice, text="nothing like it", limit=5) == []


def test_staff_find_it(alice: Any, bob: Any, sleeper: Generator, key_of: Any) -> None:
    gone, broken = finished(alice), failed(alice)
    move()
    staff = get_user_model().objects.create(username="carol", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="view_task"))
    place = "/admin/tasks_app/archivedtask/"
    listed = poll(staff, place)
    assert listed.status_code == 200
    assert str(gone.pk) in listed.content.decode()
    assert "alice" in listed.content.decode()
    for query in ("?state=failed", "?generator=sleeper", "?q=alice", f"?q={str(broken.pk)[:18]}"):
        answer = poll(staff, place + query)
        assert str(broken.pk) in answer.content.decode(), query
    assert str(gone.pk) not in poll(staff, place + "?state=failed").content.decode()
    page = poll(staff, f"{place}{broken.pk}/change/")
    assert page.status_code == 200
    for word in ("broke", broken.params["prompt"], "by hand", 'class="timeline"'):
        assert word in page.content.decode(), word
    assert "_save" not in page.content.decode()
    # Links from before it moved lead there; who may not look is not led anywhere.
    moved = poll(staff, f"/admin/tasks_app/task/{gone.pk}/change/")
    assert (moved.status_code, moved["Location"]) == (302, f"{place}{gone.pk}/change/")
    assert poll(staff, moved["Location"]).status_code == 200
    staff.user_permissions.clear()
    assert poll(staff, place).status_code == 403
    assert poll(staff, moved["Location"]).status_code == 403


def test_rows_of_another_release_can_be_read(alice: Any, sleeper: Generator) -> None:
    task = finished(alice)
    move()
    row = ArchivedTask.objects.get().row
    del row["degraded"]
    ArchivedTask.objects.update(row={**row, "of_another_release": 1})
    found = archived.task(task.pk)
    assert found is not None
    assert found.degraded is False


def test_the_archive_has_no_permissions_but_to_look(db: None) -> None:
    kind = ContentType.objects.get_for_model(ArchivedTask)
    assert list(kind.permission_set.values_list("codename", flat=True)) == ["view_archivedtask"]
