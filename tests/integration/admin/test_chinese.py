"""Every page of the staff in Chinese: no English is left on it but names, ids and units.

What the pages say comes from the product, from django-unfold and from Django; all of it counts.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from django.test import Client

from tasks_app.callbacks import outbox
from tasks_app.callbacks.sending import Answer
from tasks_app.core import credentials, outcomes, staff
from tasks_app.generators import registry
from tasks_app.lifecycle import (
    CallbackEvent,
    CallbackState,
    Delivery,
    ErrorCode,
    EventKind,
    Outcome,
    State,
    Wait,
)
from tasks_app.maintenance import archive
from tasks_app.models import (
    ArchivedTask,
    Callback,
    CallbackAddress,
    Event,
    Generator,
    GroupPlan,
    Plan,
    Task,
)
from tests.conftest import make_generator
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = pytest.mark.django_db

HOOK = "https://shop.example/hook"
NAMES = {
    *("Darkroom", "root", "alice", "carol", "sleeper", "unused", "standard", "nightshift"),
    *("tests", "artists", "mykey", "default", "demo", "picture", "by", "hand", "salt"),
    *registry.names(),
    *("English", "zh-hans", "HTTP", "test"),  # "test" is the name of an event
    *("EN", "esc", "Ctrl", "Control", "Mac", "Command"),
    *("UTC", "API", "JSON", "Schema", "LDAP", "URL", "ID", "width", "height"),
    *("Darkroom's", "Redis", "PostgreSQL", "image", "video", "png", "kB", "min", "ms"),
    *("callable", "package", "module", "function", "parameters", "kind", "DARKROOM_RESULT_DAYS"),
    *("true", "double", "fibonacci"),
    *("pbkdf2_sha256", "sha256"),
    *(code.value for code in ErrorCode),
}
"""Latin words that a Chinese page may have: names, ids, keys on a keyboard, settings, units."""

_LOWER = {name.lower() for name in NAMES}
_CODES = re.compile(
    r"[Hh]ttps://\S+|[0-9a-f]{8}-[0-9a-f-]{5,27}|[0-9a-f]{8}…[0-9a-f]{6}|dk_[\w-]*|\b\w*\d\w*\b|[\w.]+@[\w.]+"
    r'|"[^"]*"'
)
_WORD = re.compile(r"[A-Za-z][A-Za-z_'’-]+")


class Reading(HTMLParser):
    """Collects what a reader sees or hears of a page."""

    _VOID = frozenset(("area", "br", "col", "hr", "img", "input", "link", "meta", "wbr", "path"))
    _SPOKEN = ("title", "placeholder", "aria-label", "alt", "data-label")
    _HIDDEN = frozenset(("script", "style", "pre", "template", "textarea"))

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)

    @property
    def _silent(self) -> bool:
        return any(silent for _, silent in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        icon = "material-symbols-outlined" in given.get("class", "")
        if tag not in self._VOID:
            self._open.append((tag, tag in self._HIDDEN or icon or given.get("lang") == "en"))
        if not self._silent:
            self.found += [given[name] for name in self._SPOKEN if given.get(name)]
            if tag == "input" and given.get("type") in ("submit", "button"):
                self.found.append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        while any(open_tag == tag for open_tag, _ in self._open):
            if self._open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(data.strip())


def english(answer: Any) -> list[str]:
    """Return the texts of a page with Latin words that are none of the allowed ones."""
    texts = Reading(answer.content.decode()).found
    return sorted(
        {
            text
            for text in texts
            if any(word.lower() not in _LOWER for word in _WORD.findall(_CODES.sub(" ", text)))
        }
    )


def hidden(browser: Client, path: str) -> dict[str, str]:
    """Return what a form sends besides what somebody types."""
    html = browser.get(f"/admin/{path}/").content.decode()
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', html)
    return {name: value for name, value in fields if "__prefix__" not in name}


@pytest.fixture
def reader(root: Client) -> Client:
    """Return one who may do everything, and reads Chinese."""
    root.cookies["darkroom_language"] = "zh-hans"
    return root


@pytest.fixture
def rows(
    alice: Any, sleeper: Generator, open_slots: None, key_of: Callable[[Any], str]
) -> dict[str, Any]:
    """Return a row of everything; tasks in every state, with every line that a history may have."""
    credentials.create(alice, "mykey")
    tasks = {name: submit(alice) for name in ("success", "failed", "timeout", "canceled")}
    for name in ("success", "failed"):
        claim = claimed()
        tasks[name] = claim.task
        if name == "success":
            outcomes.succeeded(claim.attempt, artifacts(claim.task.pk))
        else:
            outcomes.failed(claim.attempt, ErrorCode.INTERNAL, "", retryable=False)
    staff.time_out(tasks["timeout"].pk, "carol")
    staff.cancel(tasks["canceled"].pk, "carol")
    tasks["running"] = submit(alice)
    claimed()
    tasks["pending"] = submit(alice)
    for kind in EventKind:
        Event.objects.create(task_id=tasks["success"].pk, at=alice.date_joined, kind=kind)
    unused = make_generator("unused", paused=True)
    make_generator("demo", enabled=False)
    group = Group.objects.create(name="nightshift")
    plan = Plan.objects.create(name="nightshift")
    given = GroupPlan.objects.create(group=group, plan=Plan.objects.create(name="demo"))
    others = {"of group": given, "plan": plan}
    others |= {"archived": archived(alice), "callback": refused(alice)}
    address = CallbackAddress.objects.create(owner=alice, url=HOOK, disabled_at=Now())
    return tasks | others | {"user": alice, "unused": unused, "group": group, "address": address}


def archived(owner: Any) -> ArchivedTask:
    """Return a task of long ago, in the archive."""
    task = submit(owner)
    long_ago = task.created_at - timedelta(days=400)
    staff.cancel(task.pk, "carol")
    Task.objects.filter(pk=task.pk).update(created_at=long_ago, finished_at=long_ago)
    list(archive.archive())
    return ArchivedTask.objects.get(pk=task.pk)


def refused(owner: Any) -> Callback:
    """Return a callback that came back with an error."""
    row = outbox.write(owner.pk, None, CallbackEvent.TEST, HOOK, b"{}")
    (job,) = outbox.take(outbox.Room(9))
    outbox.settle(job, Answer(Delivery.REFUSED, 503, b"", seconds=0.1))
    return row


LISTS = (
    *("tasks_app/task", "tasks_app/event", "tasks_app/generator", "tasks_app/plan"),
    *("tasks_app/account", "tasks_app/apikey", "auth/user", "auth/group"),
    *("tasks_app/groupplan", "tasks_app/archivedtask"),
    *("tasks_app/callback", "tasks_app/callbackaddress"),
)
READ_ONLY = (
    *("tasks_app/task", "tasks_app/event", "tasks_app/archivedtask"),
    *("tasks_app/callback", "tasks_app/callbackaddress"),
)


def test_lists_searches_filters_and_forms_are_in_chinese(
    reader: Client, rows: dict[str, Any]
) -> None:
    paths = ["", "tasks_app/", "auth/", "password_change/"]
    for name in LISTS:
        paths += [f"{name}/", f"{name}/?q=nothing", f"{name}/?q=al", f"{name}/?since=24h"]
        if name not in READ_ONLY:
            paths.append(f"{name}/add/")
    paths += [f"tasks_app/task/?state={state}" for state in (*State, "canceled")]
    paths += ["tasks_app/generator/?paused__exact=1", "auth/user/?is_active__exact=1&q=al"]
    left = {path: english(reader.get(f"/admin/{path}")) for path in paths}
    told = [f"{path}: {text}" for path, texts in left.items() for text in texts]
    assert not told, "\n".join(told)


def test_pages_of_rows_histories_and_confirmations_are_in_chinese(
    reader: Client, rows: dict[str, Any]
) -> None:
    event = Event.objects.values_list("pk", flat=True)[0]
    key = rows["user"].api_keys.get()
    paths = [f"tasks_app/task/{rows[state].pk}/" for state in (*State, "canceled")]
    paths += [f"tasks_app/event/{event}/", f"tasks_app/generator/{rows['unused'].pk}/"]
    paths += [f"tasks_app/plan/{rows['plan'].pk}/", f"tasks_app/account/{rows['user'].pk}/"]
    paths += [f"tasks_app/apikey/{key.pk}/", f"auth/user/{rows['user'].pk}/"]
    paths += [f"auth/group/{rows['group'].pk}/", f"tasks_app/groupplan/{rows['of group'].pk}/"]
    paths += [f"tasks_app/archivedtask/{rows['archived'].pk}/"]
    paths += [f"tasks_app/callback/{rows['callback'].pk}/"]
    paths += [f"tasks_app/callbackaddress/{rows['address'].pk}/"]
    left: dict[str, list[str]] = {}
    for path in paths:
        for page in ("change/", "history/"):
            left[path + page] = english(reader.get(f"/admin/{path}{page}"))
    deleted = (f"generator/{rows['unused'].pk}", f"plan/{rows['plan'].pk}")
    for path in (*(f"tasks_app/{one}" for one in deleted), f"auth/group/{rows['group'].pk}"):
        answer = reader.get(f"/admin/{path}/delete/")
        assert answer.status_code == 200
        left[f"{path}/delete/"] = english(answer)
    for pk in (rows["user"].pk, User.objects.get(username="root").pk):
        left[f"password {pk}"] = english(reader.get(f"/admin/auth/user/{pk}/password/"))
    told = [f"{path}: {text}" for path, texts in left.items() for text in texts]
    assert not told, "\n".join(told)


def test_answers_of_actions_and_what_is_wrong_in_forms_are_in_chinese(
    reader: Client, rows: dict[str, Any]
) -> None:
    left: dict[str, list[str]] = {}

    def act(name: str, action: str, pk: Any) -> None:
        data = {"action": action, "_selected_action": [str(pk)]}
        answer = reader.post(f"/admin/{name}/", data, follow=True)
        left[f"{name} {action}"] = english(answer)

    for action in ("cancel_tasks", "time_out_tasks", "retry_tasks", "release_slots"):
        act("tasks_app/task", action, rows["success"].pk)
    for action in ("pause", "resume", "drain", "offer", "withdraw"):
        act("tasks_app/generator", action, rows["unused"].pk)
    act("tasks_app/apikey", "revoke_keys", rows["user"].api_keys.get().pk)
    for action in ("deactivate", "activate"):
        act("auth/user", action, rows["user"].pk)
    act("tasks_app/account", "assign_plan", rows["user"].pk)
    act("tasks_app/callback", "redeliver", rows["callback"].pk)
    act("tasks_app/callbackaddress", "enable", rows["address"].pk)
    act("auth/group", "delete_selected", rows["group"].pk)
    act("auth/group", "", rows["group"].pk)
    forms: dict[str, dict[str, str]] = {
        "tasks_app/generator/add": {"name": "Not a Name", "settings": "[]", "max_running": "0"},
        "tasks_app/plan/add": {"name": "", "submit_burst": "0", "weight": "x"},
        "auth/user/add": {"username": "alice", "password1": "a", "password2": "b"},
        "auth/group/add": {"name": "nightshift"},
        f"auth/user/{rows['user'].pk}/password": {"password1": "short", "password2": "short"},
        "password_change": {"old_password": "wrong", "new_password1": "1", "new_password2": "1"},
    }
    for path, data in forms.items():
        answer = reader.post(f"/admin/{path}/", hidden(reader, path) | data)
        assert answer.status_code == 200, path
        left[path] = english(answer)
    made = reader.post("/admin/tasks_app/apikey/add/", {"user": rows["user"].pk, "name": "mykey"})
    left["a key"] = english(made)
    left["a group"] = english(
        reader.post(
            "/admin/auth/group/add/",
            hidden(reader, "auth/group/add") | {"name": "demo"},
            follow=True,
        )
    )
    left["nobody"] = english(reader.get("/admin/auth/user/4711/change/", follow=True))
    left["overview"] = english(reader.get("/admin/"))
    left["journal"] = english(
        reader.get(f"/admin/tasks_app/generator/{rows['unused'].pk}/history/")
    )
    told = [f"{path}: {text}" for path, texts in left.items() for text in texts]
    assert not told, "\n".join(told)


def test_the_journal_is_kept_in_english_and_read_in_the_language_of_the_reader(
    reader: Client, rows: dict[str, Any]
) -> None:
    data = {"action": "resume", "_selected_action": [str(rows["unused"].pk)]}
    reader.post("/admin/tasks_app/generator/", data)
    path = f"/admin/tasks_app/generator/{rows['unused'].pk}/history/"
    assert "已恢复" in reader.get(path).content.decode()
    reader.cookies["darkroom_language"] = "en"
    assert "resumed" in reader.get(path).content.decode()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_colours_go_by_the_state_and_not_by_its_word(
    reader: Client, rows: dict[str, Any], language: str
) -> None:
    reader.cookies["darkroom_language"] = language

    def colours(path: str) -> list[str]:
        html = reader.get(f"/admin/tasks_app/{path}").content.decode()
        labels = re.findall(r'class="inline-block font-semibold[^"]*"', html)
        return [
            next(iter(re.findall(r"bg-(blue|red|orange|green|base)-", label)), "")
            for label in labels
        ]

    assert colours("generator/") == ["red", "green", "orange"]  # demo, sleeper, unused
    for state, colour in (
        *(("pending", "blue"), ("running", "orange"), ("success", "green")),
        *(("failed", "red"), ("timeout", "red"), ("canceled", "base")),
    ):
        assert colours(f"task/?state={state}") == [colour], state
        assert colour in colours(f"task/{rows[state].pk}/change/")


def test_every_code_has_a_word(db: None) -> None:
    from tasks_app.admin import words

    assert set(words.STATES) == {*(state.value for state in State), words.CANCELED}
    assert set(words.COLOURS) == set(words.STATES)
    assert set(words._EVENTS) == set(EventKind)
    assert set(words.CALLBACKS) == set(words.CALLBACK_COLOURS) == set(CallbackState)
    assert set(words._OUTCOMES) == set(Outcome)
    assert set(words._WAITS) == set(Wait)
    assert set(words._ERRORS) == set(ErrorCode)
