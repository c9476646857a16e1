"""Who sees which page, and what it carries."""

from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from tasks_app.core import cancellation, submission
from tasks_app.core.submission import Wish
from tests.conftest import make_generator
from tests.unit.web.conftest import HOSTILE
from tests.unit.web.pages import Page

pytestmark = pytest.mark.django_db


def data(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = Page(response.content.decode()).data["data"]
    return found


def test_strangers_are_sent_to_the_login_and_back(client: Client, alice: Any) -> None:
    response = client.get("/")
    assert response.status_code == 302
    assert response["Location"] == "/login?next=/"
    form = {"username": "alice", "password": "alice-password", "next": "/"}
    response = client.post("/login?next=/", form)
    assert response["Location"] == "/"
    assert client.get("/").status_code == 200


def test_the_login_sends_nobody_elsewhere(client: Client, alice: Any) -> None:
    form = {"username": "alice", "password": "alice-password", "next": "https://evil.example/"}
    assert client.post("/login", form)["Location"] == "/"


def test_who_is_logged_in_does_not_see_the_login(visitor: Client) -> None:
    assert visitor.get("/login")["Location"] == "/"


def test_a_wrong_password_is_one_sentence_for_any_reason(client: Client, alice: Any) -> None:
    wrong = client.post("/login", {"username": "alice", "password": "x"}).content.decode()
    unknown = client.post("/login", {"username": "nobody", "password": "x"}).content.decode()
    for text in (wrong, unknown):
        assert "correct username and password" in text
    assert 'value="alice"' in wrong


def test_logout_takes_a_post(visitor: Client) -> None:
    assert visitor.get("/logout").status_code == 405
    assert visitor.post("/logout")["Location"] == "/login"
    assert visitor.get("/").status_code == 302


def test_the_studio_carries_forms_live_tasks_and_recent_ones(
    visitor: Client, alice: Any, task_id: UUID
) -> None:
    ended = submission.submit(alice, Wish("sleeper", {"prompt": "over"})).task_id
    cancellation.cancel(ended, alice.pk)
    found = data(visitor.get("/"))
    assert [task["task_id"] for task in found["live"]] == [str(task_id)]
    assert [task["task_id"] for task in found["recent"]] == [str(ended)]
    assert found["next_cursor"] is None
    assert found["generators"][0]["params_schema"]["properties"]["prompt"]["type"] == "string"


def test_more_tasks_than_a_page_come_with_a_cursor(visitor: Client, alice: Any) -> None:
    make_generator()
    for number in range(25):
        one = submission.submit(alice, Wish("sleeper", {"prompt": f"{number}"})).task_id
        cancellation.cancel(one, alice.pk)
    found = data(visitor.get("/"))
    assert len(found["recent"]) == 24
    listing = f"/v1/tasks?status=failed&cursor={found['next_cursor']}"
    rest = visitor.get(listing).json()["items"]
    assert [task["params"]["prompt"] for task in rest] == ["0"]


def test_hostile_prompts_stay_data(visitor: Client, task_id: UUID) -> None:
    for path in ("/", f"/tasks/{task_id}"):
        text = visitor.get(path).content.decode()
        assert "<img src=x" not in text
        assert HOSTILE in _prompts(text)


def _prompts(text: str) -> list[str]:
    found = Page(text).data["data"]
    return [
        task["params"]["prompt"] for task in [*found.get("live", []), found.get("task")] if task
    ]


def test_bob_must_get_404_for_the_task_of_alice(client: Client, bob: Any, task_id: UUID) -> None:
    client.force_login(bob)
    assert client.get(f"/tasks/{task_id}").status_code == 404
    assert data(client.get("/"))["live"] == []


@pytest.mark.parametrize("path", [f"/tasks/{UUID(int=1)}", "/tasks/no-id", "/tasks/"])
def test_what_is_no_task_is_404(visitor: Client, path: str) -> None:
    response = visitor.get(path)
    assert response.status_code == 404
    assert "Nothing on this print" in response.content.decode()


def test_the_task_page_needs_a_login(client: Client, task_id: UUID) -> None:
    response = client.get(f"/tasks/{task_id}")
    assert response["Location"] == f"/login?next=/tasks/{task_id}"


def test_a_staff_member_finds_the_admin(visitor: Client, alice: Any) -> None:
    assert "/admin/" not in visitor.get("/").content.decode()
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    assert 'href="/admin/"' in visitor.get("/").content.decode()


def test_the_catalogue_of_words_is_a_script(client: Client) -> None:
    response = client.get("/jsi18n?l=en")
    assert response["Content-Type"].startswith("text/javascript")
    assert b"gettext" in response.content


def test_the_studio_asks_the_database_as_often_for_many_tasks_as_for_few(
    visitor: Client, alice: Any, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_generator()
    for number in range(12):
        one = submission.submit(alice, Wish("sleeper", {"prompt": f"{number}"})).task_id
        if number % 2:
            cancellation.cancel(one, alice.pk)
    with django_assert_max_num_queries(10):
        visitor.get("/")
