"""What staff may not do, whatever pages other software would add and forms would take."""

import pytest
from django.apps import apps
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

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
