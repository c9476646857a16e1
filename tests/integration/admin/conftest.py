"""Members of the staff with more and with fewer rights, and their browsers."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from tasks_app.admin import now
from tests.conftest import make_user

LOOK = (
    *("view_task", "view_event", "view_attempt", "view_generator"),
    *("view_plan", "view_groupplan", "view_account", "view_apikey", "view_user"),
)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    now.forget()


@pytest.fixture
def staff_with(db: None) -> Callable[..., Client]:
    """Return a function that logs a member of the staff in who may look, and do what is named."""

    def log_in(*permissions: str, name: str = "carol") -> Client:
        user = make_user(name)
        user.is_staff = True
        user.save()
        user.user_permissions.set(Permission.objects.filter(codename__in=(*LOOK, *permissions)))
        browser = Client()
        browser.force_login(user)
        return browser

    return log_in


@pytest.fixture
def root(db: None) -> Client:
    """Return the browser of one who may do everything."""
    user: Any = make_user("root")
    user.is_staff = user.is_superuser = True
    user.save()
    browser = Client()
    browser.force_login(user)
    return browser
