"""What no view could make sense of is a 400 before sessions and forms are looked at."""

import json
from typing import Any

import pytest
from django.test import Client

from aigc_site import bodies
from tests.integration.api.caller import Caller, problem

NUL_COOKIE = 'darkroom_session="\\000' + "a" * 31 + '"'
FORM = "application/x-www-form-urlencoded"


def browser() -> Client:
    """Return a browser for which a server's error is an answer."""
    return Client(raise_request_exception=False, enforce_csrf_checks=True)


@pytest.mark.parametrize("path", ["/", "/login", "/admin/", "/healthz", "/nowhere"])
def test_nul_in_a_cookie_is_400(path: str, db: None) -> None:
    assert browser().get(path, headers={"cookie": NUL_COOKIE}).status_code == 400


def test_nul_in_a_cookie_is_a_problem_below_v1(db: None) -> None:
    problem(Caller().get("/v1/tasks", Cookie=NUL_COOKIE), 400, "bad_request")


@pytest.mark.parametrize(
    "query", ["q=%00", "%00=1", "status__exact=%00", "o=%00", "p=%00", "e=1&_popup=%00"]
)
def test_nul_in_the_query_of_a_page_is_400(query: str, admin_client: Client) -> None:
    admin_client.raise_request_exception = False
    for path in ("/admin/tasks_app/task/", "/admin/autocomplete/", "/", "/login"):
        assert admin_client.get(f"{path}?{query}").status_code == 400
    assert admin_client.get("/admin/tasks_app/task/?q=%2500").status_code == 200


@pytest.mark.parametrize(
    "kind",
    [
        *[f"{FORM}; charset={odd}" for odd in ("idna", "hex", "utf-16", "latin-1", '"hex"', "no")],
        *[f"multipart/form-data; boundary=x; charset={odd}" for odd in ("hex", "idna", "rot13")],
    ],
)
def test_forms_in_another_encoding_are_400(kind: str, db: None) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n'
    for path in ("/login", "/admin/login/"):
        answer = browser().generic("POST", path, body, kind)
        assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (400, "text/html")
    problem(Caller()("POST", "/v1/tasks", body, content_type=kind), 400, "bad_request")


@pytest.mark.parametrize("name", ["utf-8", "UTF-8", '"utf-8"', "utf8"])
def test_forms_in_utf_8_may_say_so(name: str, db: None) -> None:
    answer = browser().generic("POST", "/login", b"a=b", f"{FORM}; charset={name}")
    assert answer.status_code == 403  # the token is missing


def test_the_encoding_of_other_bodies_is_not_that_of_the_query(as_alice: Caller) -> None:
    kind = "application/json; charset=hex"
    assert as_alice("GET", "/v1/tasks?limit=1", content_type=kind).status_code == 200


def test_a_file_in_a_form_is_400(alice: Any) -> None:
    one = browser()
    token = one.get("/login").cookies["darkroom_csrf"].value
    fields = {"csrfmiddlewaretoken": token, "username": "alice", "password": "alice-password"}
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    kind = "multipart/form-data; boundary=x"
    file = '--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nabc\r\n'
    assert one.generic("POST", "/login", body + file + "--x--\r\n", kind).status_code == 400
    assert one.generic("POST", "/login", file + body + "--x--\r\n", kind).status_code == 400
    assert one.generic("POST", "/login", body + "--x--\r\n", kind).status_code == 302


@pytest.mark.parametrize(
    ("status", "code"), [(408, "too_slow"), (413, "too_large"), (503, "unavailable")]
)
def test_a_body_that_was_not_read_is_answered_in_the_form_of_the_address(
    status: int, code: str
) -> None:
    extra: dict[str, Any] = {bodies.REFUSED: status}
    answer = browser().post("/v1/tasks", **extra)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    found = json.loads(answer.content)
    assert (found["code"], found["request_id"]) == (code, answer["X-Request-Id"])
    page = browser().post("/login", **extra)
    assert (page.status_code, page["Content-Type"]) == (status, "text/plain; charset=utf-8")
    assert ("Retry-After" in page) == (status == 503)
