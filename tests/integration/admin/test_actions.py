"""What staff do to tasks, generators, users and keys: repeatable, allowed, logged, in numbers."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from tasks_app.admin import actions
from tasks_app.core import credentials, outcomes, queries, staff
from tasks_app.gates import keys, slots
from tasks_app.lifecycle import EventKind
from tasks_app.models import Account, ApiKey, Attempt, Event, Generator, Plan, Task
from tests.conftest import make_generator
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_slots")]


def act(browser: Client, action: str, *tasks: Task) -> str:
    """Run an action on the list, and return what it said."""
    data = {"action": action, "_selected_action": [str(task.pk) for task in tasks]}
    answer = browser.post("/admin/tasks_app/task/", data, follow=True)
    return " ".join(str(message) for message in answer.context["messages"])


def state(task: Task) -> str:
    task.refresh_from_db()
    return f"{task.state}/{task.error_code}".rstrip("/")


PERMISSIONS = {
    "cancel_tasks": "cancel_task",
    "time_out_tasks": "time_out_task",
    "retry_tasks": "retry_task",
    "release_slots": "release_task_slots",
}


@pytest.fixture
def tasks(alice: Any, sleeper: Generator) -> tuple[Task, Task, Task]:
    """Return one that succeeded, one that runs, one that waits."""
    done, running, waiting = submit(alice), submit(alice), submit(alice)
    claim = claimed()
    outcomes.succeeded(claim.attempt, artifacts(done.pk))
    claimed()
    for task in (done, running):
        task.refresh_from_db()
    return done, running, waiting


def test_cancel_ends_what_lives_and_skips_the_rest(
    root: Client, tasks: tuple[Task, Task, Task]
) -> None:
    assert act(root, "cancel_tasks", *tasks) == "Cancel: 2 done, 1 skipped."
    assert [state(task) for task in tasks] == ["success", "failed/canceled", "failed/canceled"]
    assert act(root, "cancel_tasks", *tasks) == "Cancel: 0 done, 3 skipped."
    told = Event.objects.filter(kind="canceled").values_list("data", flat=True)
    assert [(data["by"], data["staff"]) for data in told] == [("staff", "root")] * 2
    assert Attempt.objects.filter(revoked_at__isnull=False).count() == 1
    logged = LogEntry.objects.filter(user__username="root")
    assert {entry.object_id for entry in logged} == {str(task.pk) for task in tasks[1:]}
    assert {entry.get_change_message() for entry in logged} == {"Cancel"}


def test_time_out_ends_what_lives_as_its_deadline_would(
    root: Client, tasks: tuple[Task, Task, Task]
) -> None:
    assert act(root, "time_out_tasks", *tasks) == "Time out now: 2 done, 1 skipped."
    assert [state(task) for task in tasks[1:]] == [
        "timeout/deadline_exceeded",
        "timeout/waited_too_long",
    ]
    assert act(root, "time_out_tasks", *tasks) == "Time out now: 0 done, 3 skipped."


def test_retry_makes_one_new_task_for_its_owner_however_often_it_is_asked_for(
    root: Client, alice: Any, tasks: tuple[Task, Task, Task]
) -> None:
    done, running, _ = tasks
    assert act(root, "retry_tasks", done, running) == "Retry as a new task: 1 done, 1 skipped."
    assert act(root, "retry_tasks", done) == "Retry as a new task: 0 done, 1 skipped."
    new = Task.objects.get(retry_of=done.pk)
    assert (new.owner_id, new.params, new.state) == (alice.pk, done.params, "pending")
    event = Event.objects.get(task=done, kind=EventKind.STAFF_ACTION)
    assert event.data["action"] == "retry"
    assert event.data["task_id"] == str(new.pk)
    assert event.data["staff"] == "root"


def test_retry_keeps_to_the_owners_limits(root: Client, tasks: tuple[Task, Task, Task]) -> None:
    Account.objects.update(max_open=1)
    assert act(root, "retry_tasks", tasks[0]).endswith("0 done, 1 skipped.")
    User.objects.filter(username="alice").update(is_active=False)
    Account.objects.update(max_open=100)
    assert act(root, "retry_tasks", tasks[0]).endswith("0 done, 1 skipped.")
    assert Task.objects.count() == 3


def test_slots_are_released_only_of_what_was_told_to_stop(
    root: Client, tasks: tuple[Task, Task, Task]
) -> None:
    done, running, waiting = tasks
    scope = keys.slots_generator(running.generator_id)
    assert act(root, "release_slots", *tasks).endswith("0 done, 3 skipped.")
    assert slots.used([scope]) == [1]
    staff.cancel(running.pk, "root")
    assert slots.used([scope]) == [1]
    assert act(root, "release_slots", done, running, waiting).endswith("1 done, 2 skipped.")
    assert slots.used([scope]) == [0]
    assert Attempt.objects.get(task=running).outcome == "revoked"
    assert act(root, "release_slots", running).endswith("0 done, 1 skipped.")


def test_slots_that_only_redis_still_holds_are_released(
    root: Client, tasks: tuple[Task, Task, Task]
) -> None:
    done = tasks[0]
    attempt = Attempt.objects.select_related("task").get(task=done)
    slots.extend(slots.Holder(attempt.claim_id, done.pk, done.generator_id, done.owner_id))
    assert act(root, "release_slots", done).endswith("1 done, 0 skipped.")
    assert len(slots.members(keys.slots_all())) == 1


@pytest.mark.parametrize("action", PERMISSIONS)
def test_each_action_takes_its_own_permission(
    staff_with: Callable[..., Client], tasks: tuple[Task, Task, Task], action: str
) -> None:
    others = [name for key, name in PERMISSIONS.items() if key != action]
    carol = staff_with(*others, "change_generator")
    before = [(task.state, task.version) for task in Task.objects.order_by("pk")]
    act(carol, action, *tasks)
    for task in tasks:
        path = f"/admin/tasks_app/task/{task.pk}/act/{action}/"
        assert carol.post(path).status_code == 403
    assert [(task.state, task.version) for task in Task.objects.order_by("pk")] == before
    assert not LogEntry.objects.exists()
    page = carol.get("/admin/tasks_app/task/").content.decode()
    assert f'value="{action}"' not in page

    dora = staff_with(PERMISSIONS[action], name="dora")
    assert f'value="{action}"' in dora.get("/admin/tasks_app/task/").content.decode()
    assert "done" in act(dora, action, *tasks)


def test_the_buttons_of_a_task_act_by_post_only_and_come_back(
    root: Client, tasks: tuple[Task, Task, Task]
) -> None:
    waiting = tasks[2]
    page = f"/admin/tasks_app/task/{waiting.pk}/change/"
    path = f"/admin/tasks_app/task/{waiting.pk}/act/cancel_tasks/"
    assert f'action="{path}"' in root.get(page).content.decode()
    assert root.get(path).status_code == 405
    assert state(waiting) == "pending"
    assert root.post(path)["Location"] == page
    assert state(waiting) == "failed/canceled"
    shown = root.get(page).content.decode()
    assert path not in shown
    assert "retry_tasks" in shown
    assert root.post(f"/admin/tasks_app/task/{waiting.pk}/act/delete/").status_code == 404
    assert root.post(f"/admin/tasks_app/task/{uuid4()}/act/cancel_tasks/").status_code == 404


def test_the_buttons_need_the_csrf_token(tasks: tuple[Task, Task, Task], root: Client) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.get(username="root"))
    path = f"/admin/tasks_app/task/{tasks[2].pk}/act/cancel_tasks/"
    assert browser.post(path).status_code == 403
    assert state(tasks[2]) == "pending"


def test_an_action_has_a_bound(
    root: Client, tasks: tuple[Task, Task, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MOST", 2)
    text = act(root, "cancel_tasks", *tasks)
    assert text.startswith("Cancel: 2 done, 0 skipped. Only the first 2")


def test_owners_do_not_learn_who_it_was(
    root: Client, alice: Any, tasks: tuple[Task, Task, Task], client: Client
) -> None:
    act(root, "cancel_tasks", tasks[2])
    client.force_login(alice)
    body = client.get(f"/v1/tasks/{tasks[2].pk}/events").content.decode()
    assert '"by":"staff"' in body
    assert "root" not in body


# --- generators ----------------------------------------------------------------------------


def on_generators(browser: Client, action: str, *generators: Generator) -> str:
    data = {"action": action, "_selected_action": [str(one.pk) for one in generators]}
    answer = browser.post("/admin/tasks_app/generator/", data, follow=True)
    return " ".join(str(message) for message in answer.context["messages"])


def flags(generator: Generator) -> tuple[bool, bool]:
    generator.refresh_from_db()
    return generator.enabled, generator.paused


def test_pause_drain_resume_and_offer_act_at_once(root: Client, sleeper: Generator) -> None:
    assert on_generators(root, "pause", sleeper) == "1 paused, 0 skipped."
    assert on_generators(root, "pause", sleeper) == "0 paused, 1 skipped."
    assert flags(sleeper) == (True, True)
    assert on_generators(root, "resume", sleeper) == "1 resumed, 0 skipped."
    on_generators(root, "drain", sleeper)
    assert flags(sleeper) == (False, False)
    on_generators(root, "offer", sleeper)
    assert flags(sleeper) == (True, False)
    assert LogEntry.objects.count() == 4


def test_withdrawing_ends_what_waits_and_nothing_else(
    root: Client, alice: Any, tasks: tuple[Task, Task, Task], sleeper: Generator
) -> None:
    make_generator("other")
    elsewhere = submit(alice, "other")
    text = on_generators(root, "withdraw", sleeper)
    assert text == "sleeper: withdrawn, 1 waiting task canceled."
    assert [state(task) for task in tasks] == ["success", "running", "failed/canceled"]
    assert state(elsewhere) == "pending"
    assert not flags(sleeper)[0]
    assert on_generators(root, "withdraw", sleeper).endswith("0 waiting tasks canceled.")


def test_looking_is_not_pausing(staff_with: Callable[..., Client], sleeper: Generator) -> None:
    carol = staff_with()
    for action in ("pause", "withdraw", "drain"):
        on_generators(carol, action, sleeper)
    assert flags(sleeper) == (True, False)


def test_the_form_helps_with_settings_and_refuses_wrong_ones(
    root: Client, sleeper: Generator
) -> None:
    path = f"/admin/tasks_app/generator/{sleeper.pk}/change/"
    page = root.get(path)
    assert "package.module:function" in page.content.decode()
    data = {
        name: value
        for name, value in page.context["adminform"].form.initial.items()
        if value is not None and value is not False
    }
    wrong = root.post(path, data | {"settings": '{"callable": "no.such:thing"}'})
    assert "settings" in wrong.context["adminform"].form.errors
    right = root.post(path, data | {"settings": "{}", "adapter": "sketch", "max_running": 2})
    assert right.status_code == 302, right.context["adminform"].form.errors
    sleeper.refresh_from_db()
    assert (sleeper.adapter, sleeper.max_running) == ("sketch", 2)


# --- people --------------------------------------------------------------------------------


def test_a_key_is_shown_once_and_revoked(root: Client, alice: Any) -> None:
    made = root.post(
        "/admin/tasks_app/apikey/add/", {"user": alice.pk, "name": "robot"}, follow=True
    )
    (text,) = re.findall(r"dk_[\w-]{30,}", made.content.decode())
    assert credentials.owner_of(text) == alice.pk
    key = ApiKey.objects.get(name="robot")
    for path in ("/admin/tasks_app/apikey/", f"/admin/auth/user/{alice.pk}/change/"):
        assert text not in root.get(path).content.decode()
    data = {"action": "revoke_keys", "_selected_action": [str(key.pk)]}
    root.post("/admin/tasks_app/apikey/", data)
    credentials.clear_caches()
    assert credentials.owner_of(text) is None


def test_users_are_deactivated_and_their_keys_stop(
    root: Client, alice: Any, key_of: Callable[[Any], str]
) -> None:
    key = key_of(alice)
    assert credentials.owner_of(key) == alice.pk
    everybody = [str(user.pk) for user in User.objects.all()]
    root.post("/admin/auth/user/", {"action": "deactivate", "_selected_action": everybody})
    credentials.clear_caches()
    assert credentials.owner_of(key) is None
    assert User.objects.get(username="root").is_active, "nobody locks himself out"
    root.post("/admin/auth/user/", {"action": "activate", "_selected_action": everybody})
    credentials.clear_caches()
    assert credentials.owner_of(key) == alice.pk


def test_a_new_user_has_an_account(root: Client) -> None:
    form = {"username": "erin", "password1": "a-Long-pass-9", "password2": "a-Long-pass-9"}
    inline = {
        "api_keys-TOTAL_FORMS": 0,
        "api_keys-INITIAL_FORMS": 0,
        "usable_password": "true",
    }
    answer = root.post("/admin/auth/user/add/", form | inline)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert Account.objects.get(user__username="erin").plan.is_default


def test_accounts_show_their_use_beside_the_limit(
    root: Client, alice: Any, tasks: tuple[Task, Task, Task]
) -> None:
    Account.objects.filter(user=alice).update(max_open=2, submit_interval=10, submit_burst=3)
    rows = root.get("/admin/tasks_app/account/", {"q": "ali"}).content.decode()
    assert "2 / 2" in rows
    assert "1 / 1000" in rows
    assert "3 / 3" in rows
    page = root.get(f"/admin/tasks_app/account/{alice.pk}/change/").content.decode()
    assert "2 / 2" in page


def test_plans_in_use_stay(root: Client, alice: Any) -> None:
    spare = Plan.objects.create(name="spare")
    for plan in Plan.objects.all():
        root.post(f"/admin/tasks_app/plan/{plan.pk}/delete/", {"post": "yes"})
    assert not Plan.objects.filter(pk=spare.pk).exists()
    assert Plan.objects.filter(is_default=True).exists()


def test_a_canceled_task_reads_as_canceled_at_once(
    root: Client, alice: Any, tasks: tuple[Task, Task, Task]
) -> None:
    act(root, "cancel_tasks", tasks[2])
    assert queries.view(tasks[2].pk, alice.pk).document["status"] == "failed"
