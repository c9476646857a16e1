"""The headers of pages, and that no page needs an exception from them."""

from typing import Any
from uuid import UUID

import pytest
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from tasks_app.web.security import ContentSecurityPolicyMiddleware
from tests.unit.web.pages import Page

pytestmark = pytest.mark.django_db


def policy(response: Any) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in response["Content-Security-Policy"].split(";"))
    return {name: sources for name, _, sources in parts}


@pytest.mark.parametrize("path", ["/login", "/", "/no-such-page", "/healthz"])
def test_every_answer_has_a_policy_without_unsafe_sources(client: Client, path: str) -> None:
    found = policy(client.get(path))
    assert found["default-src"] == "'none'"
    assert found["script-src"] == "'self'"
    assert found["frame-ancestors"] == found["base-uri"] == "'none'"
    assert "unsafe" not in str(found)
    assert "*" not in str(found)


def test_the_staffs_pages_have_two_exceptions_and_no_more(client: Client) -> None:
    found = policy(client.get("/admin/login/"))
    assert found.pop("script-src") == "'self' 'unsafe-eval'"  # scripts in a page stay forbidden
    assert found.pop("style-src") == "'self' 'unsafe-inline'"
    assert found["default-src"] == "'none'"
    assert found["frame-ancestors"] == found["base-uri"] == "'none'"
    assert "unsafe" not in str(found)
    assert "*" not in str(found)


def test_pages_forbid_markup_from_strings_and_the_admin_does_not(client: Client) -> None:
    assert policy(client.get("/login"))["require-trusted-types-for"] == "'script'"
    assert "require-trusted-types-for" not in policy(client.get("/admin/login/"))


def test_a_response_keeps_the_policy_that_it_has() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "sandbox", "Cache-Control": "x"})

    response = ContentSecurityPolicyMiddleware(view)(RequestFactory().get("/"))
    assert response["Content-Security-Policy"] == "sandbox"
    assert response["Cache-Control"] == "x"


def test_other_headers_of_a_page(visitor: Client) -> None:
    response = visitor.get("/")
    assert "no-store" in response["Cache-Control"]
    assert "camera=()" in response["Permissions-Policy"]
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"


def test_pages_carry_no_inline_code_and_nothing_from_elsewhere(
    client: Client, visitor: Client, task_id: UUID
) -> None:
    answers = [
        client.get("/login"),
        client.post("/login", {"username": "alice", "password": "wrong"}),
        client.get("/no-such-page"),
        visitor.get("/"),
        visitor.get(f"/tasks/{task_id}"),
        visitor.get("/no-such-page"),
    ]
    for answer in answers:
        page = Page(answer.content.decode())
        assert page.inline == []
        assert page.foreign == []
        assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize("name", ["400.html", "403.html", "403_csrf.html", "404.html", "500.html"])
def test_error_pages_need_no_context(name: str) -> None:
    page = Page(render_to_string(name))
    assert page.inline == []
    assert page.foreign == []


def test_a_form_without_its_token_gets_a_page_in_our_style(alice: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post("/login", {"username": "alice", "password": "alice-password"})
    assert response.status_code == 403
    assert "gone stale" in response.content.decode()
