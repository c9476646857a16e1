"""What staff may not do, whatever pages other software would add and forms would take."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tasks_app.core import credentials
from tasks_app.models import Account, ApiKey, Plan
from tests.conftest import make_user

pytestmark = pytest.mark.django_db

DASHBOARD = ("", "dashboard/", "dashboard/queues/0/", "dashboard/queues/0/empty/", "stats.json")


@pytest.mark.parametrize("path", DASHBOARD)
def test_there_is_no_dashboard_of_bells(root: Client, path: str) -> None:
    for base in ("/admin/django_rq/", "/django-rq/"):
        assert root.get(base + path).status_code == 404
        assert root.post(base + path).status_code == 404


def test_all_pages_are_our_own() -> None:
    def names(found: list[URLPattern | URLResolver]) -> set[str]:
        modules = set()
        for one in found:
            if isinstance(one, URLResolver):
                modules |= names(one.url_patterns)
            else:
                modules.add(getattr(one.callback, "__module__", ""))
        return modules

    assert not [name for name in names(get_resolver().url_patterns) if "rq" in name.split(".")[0]]
    assert not apps.is_installed("django_rq")


def test_staff_without_rights_see_nothing() -> None:
    user = make_user("idle")
    user.is_staff = True
    user.save()
    browser = Client()
    browser.force_login(user)
    page = browser.get("/admin/")
    assert page.status_code == 200
    assert page.context["available_apps"] == []
    for path in ("tasks_app/task/", "tasks_app/generator/", "auth/user/", "tasks_app/apikey/"):
        assert browser.get(f"/admin/{path}").status_code == 403, path


# --- rights over people --------------------------------------------------------------------


def form_of(browser: Client, path: str) -> dict[str, Any]:
    """Return what a page's forms would send, with every right added."""
    given = browser.get(path).context["adminform"].form.initial
    found = {name: value for name, value in given.items() if value is not None}
    rights = Permission.objects.values_list("pk", flat=True)
    found |= {"is_active": "on", "user_permissions": list(rights)}
    found |= {"is_staff": "on", "is_superuser": "on", "date_joined_0": "2026-01-01"}
    inline = {"api_keys-TOTAL_FORMS": 0, "api_keys-INITIAL_FORMS": 0}
    return found | inline | {"date_joined_1": "00:00", "groups": []}


def page_of(user: Any) -> str:
    return f"/admin/auth/user/{user.pk}/change/"


def test_who_may_change_users_gives_no_rights(
    staff_with: Callable[..., Client], alice: Any
) -> None:
    carol = staff_with("change_user", "add_user")
    staff = User.objects.get(username="carol")
    rights = staff.user_permissions.count()
    for user in (staff, alice):
        data = form_of(carol, page_of(user)) | {"first_name": "Changed", "username": user.username}
        answer = carol.post(page_of(user), data)
        assert answer.status_code == 302, answer.context["adminform"].form.errors
        user.refresh_from_db()
        assert user.first_name == "Changed"
        assert not user.is_superuser
    assert not alice.is_staff
    assert staff.user_permissions.count() == rights
    assert not alice.user_permissions.exists()


def test_superusers_give_rights(root: Client, alice: Any) -> None:
    data = form_of(root, page_of(alice)) | {"username": "alice"}
    assert root.post(page_of(alice), data).status_code == 302
    alice.refresh_from_db()
    assert alice.is_superuser
    assert alice.user_permissions.count() == Permission.objects.count()


def test_only_links_that_open_are_shown(staff_with: Callable[..., Client], alice: Any) -> None:
    looker = staff_with()
    maker = staff_with("add_apikey", name="dora")
    for path in ("/admin/auth/user/", page_of(alice)):
        for browser, keys in ((looker, False), (maker, True)):
            html = browser.get(path).content.decode()
            links = re.findall(
                r'href="(/admin/tasks_app/[^"]*)">(?:tasks|limits|make a key)<', html
            )
            assert any("apikey/add" in link for link in links) is keys
            assert f"/admin/tasks_app/account/{alice.pk}/change/" in links
            assert {browser.get(unescape(link)).status_code for link in links} == {200}


def test_only_superusers_touch_superusers(
    staff_with: Callable[..., Client], root: Client, alice: Any
) -> None:
    carol = staff_with("change_user")
    chief = User.objects.get(username="root")
    assert carol.get(page_of(chief)).status_code == 200, "looking is allowed"
    assert carol.post(page_of(chief), {"username": "gone"}).status_code == 403
    everybody = {"action": "deactivate", "_selected_action": [chief.pk, alice.pk]}
    carol.post("/admin/auth/user/", everybody)
    chief.refresh_from_db()
    alice.refresh_from_db()
    assert (chief.is_active, chief.username, alice.is_active) == (True, "root", False)


def test_only_superusers_set_passwords_of_staff(
    staff_with: Callable[..., Client], root: Client, alice: Any
) -> None:
    carol = staff_with("change_user")
    dora = make_user("dora")
    User.objects.filter(pk=dora.pk).update(is_staff=True)
    new = {"password1": "a-Long-pass-9", "password2": "a-Long-pass-9", "usable_password": "true"}
    for user, status in ((dora, 403), (User.objects.get(username="root"), 403), (alice, 302)):
        path = f"/admin/auth/user/{user.pk}/password/"
        assert carol.get(path).status_code == (403 if status == 403 else 200)
        assert carol.post(path, new).status_code == status
        user.refresh_from_db()
        assert user.check_password("a-Long-pass-9") is (status == 302)
    assert root.post(f"/admin/auth/user/{dora.pk}/password/", new).status_code == 302


def test_only_superusers_change_groups(staff_with: Callable[..., Client], root: Client) -> None:
    group = Group.objects.create(name="pausers")
    carol = staff_with("change_group", "add_group", "delete_group", "view_group")
    for path in ("add/", f"{group.pk}/change/", f"{group.pk}/delete/"):
        assert (
            carol.post(f"/admin/auth/group/{path}", {"name": "x", "post": "yes"}).status_code == 403
        )
    form = {"darkroom_plan-TOTAL_FORMS": 0, "darkroom_plan-INITIAL_FORMS": 0, "name": "lookers"}
    assert root.post("/admin/auth/group/add/", form).status_code == 302


def test_keys_are_made_for_oneself_and_for_users(
    staff_with: Callable[..., Client], root: Client, alice: Any
) -> None:
    carol = staff_with("add_apikey")
    dora = make_user("dora")
    User.objects.filter(pk=dora.pk).update(is_staff=True)
    own = User.objects.get(username="carol")
    for user in (User.objects.get(username="root"), dora):
        answer = carol.post("/admin/tasks_app/apikey/add/", {"user": user.pk, "name": "stolen"})
        assert set(answer.context["adminform"].form.errors) == {"user"}
    for user in (alice, own):
        carol.post("/admin/tasks_app/apikey/add/", {"user": user.pk, "name": "fine"})
    root.post("/admin/tasks_app/apikey/add/", {"user": dora.pk, "name": "fine"})
    owners = ApiKey.objects.values_list("user__username", "name")
    assert set(owners) == {("alice", "fine"), ("carol", "fine"), ("dora", "fine")}


def test_a_new_key_is_in_one_answer_and_nowhere_else(root: Client, alice: Any) -> None:
    made = root.post("/admin/tasks_app/apikey/add/", {"user": alice.pk, "name": "robot"})
    assert made.status_code == 200
    assert "no-store" in made["Cache-Control"]
    (text,) = re.findall(r"dk_[\w-]{30,}", made.content.decode())
    assert credentials.owner_of(text) == alice.pk
    assert "messages" not in made.cookies
    for session in Session.objects.all():
        assert "dk_" not in str(session.get_decoded())
    assert text not in root.get("/admin/tasks_app/apikey/").content.decode()


def test_an_account_stays_with_its_user(root: Client, alice: Any, bob: Any) -> None:
    plan = Plan.objects.get(is_default=True)
    Account.objects.filter(user=bob).update(max_open=77)
    data = {"user": bob.pk, "own_plan": str(plan.pk), "max_open": 5}
    assert root.post(f"/admin/tasks_app/account/{alice.pk}/change/", data).status_code == 302
    added = root.post("/admin/tasks_app/account/add/", data)
    assert set(added.context["adminform"].form.errors) == {"user"}
    assert Account.objects.get(user=alice).max_open == 5
    assert Account.objects.get(user=bob).max_open == 77
