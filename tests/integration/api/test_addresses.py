"""Every address below /v1 speaks JSON, whatever is asked of it and however."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core import signing
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client

from tasks_app.core import offers
from tasks_app.models import Generator, Task
from tasks_app.results import links, store
from tests.integration.api.caller import Caller, finished, problem

ID = "0198e0aa-0000-7000-8000-00000000abcd"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
ADDRESSES = {
    "/v1/tasks": {"GET", "HEAD", "POST", "OPTIONS"},
    f"/v1/tasks/{ID}": {"GET", "HEAD", "DELETE", "OPTIONS"},
    f"/v1/tasks/{ID}/retry": {"POST", "OPTIONS"},
    f"/v1/tasks/{ID}/result": {"DELETE", "OPTIONS"},
    f"/v1/tasks/{ID}/events": {"GET", "HEAD", "OPTIONS"},
    f"/v1/artifacts/{ID}": {"GET", "HEAD", "OPTIONS"},
    f"/v1/artifacts/{ID}/thumbnail": {"GET", "HEAD", "OPTIONS"},
    "/v1/generators": {"GET", "HEAD", "OPTIONS"},
    "/v1/account": {"GET", "HEAD", "OPTIONS"},
}
GETTABLE = [path for path, methods in ADDRESSES.items() if "GET" in methods]


def allowed(answer: Any) -> set[str]:
    return {method.strip() for method in answer["Allow"].split(",")}


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_wrong_method_is_405_and_learns_the_right_ones(as_alice: Caller, path: str) -> None:
    for method in set(METHODS) - ADDRESSES[path]:
        answer = as_alice(method, path)
        assert answer.status_code == 405
        if method != "HEAD":
            problem(answer, 405, "method_not_allowed")
        assert allowed(answer) == ADDRESSES[path]


@pytest.mark.parametrize("path", ADDRESSES)
def test_options_names_the_methods_and_says_nothing_else(as_alice: Caller, path: str) -> None:
    answer = as_alice("OPTIONS", path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert allowed(answer) == ADDRESSES[path]


@pytest.mark.parametrize("path", ADDRESSES)
def test_without_a_key_or_session_every_address_is_401(db: None, path: str) -> None:
    for method in ADDRESSES[path] - {"HEAD"}:
        answer = Caller()(method, path)
        problem(answer, 401, "not_authenticated")
        assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("path", GETTABLE)
def test_head_is_get_without_the_body(as_alice: Caller, path: str) -> None:
    get, head = as_alice("GET", path), as_alice("HEAD", path)
    assert head.status_code == get.status_code
    assert head["Content-Type"] == get["Content-Type"]
    assert head.content == b""


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*", "x", "", "*/*;q=0"])
def test_accept_decides_nothing(as_alice: Caller, sleeper: Generator, accept: str) -> None:
    submitted = as_alice.submit(Accept=accept)
    assert (submitted.status_code, submitted["Content-Type"]) == (202, "application/json")
    paths = [submitted["Location"], "/v1/tasks", "/v1/generators", "/v1/account"]
    for path in paths:
        answer = as_alice.get(path, Accept=accept)
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    for path in (f"/v1/tasks/{ID}", "/v1/tasks?nope=1", "/v1/nope"):
        answer = as_alice.get(path, Accept=accept)
        assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    ["/v1", "/v1/", "/v1/nope", "/v1/tasks/", "/v1//tasks", "/v1/tasks/%0a", "/v1/generators/x"],
)
def test_an_address_that_does_not_exist_is_a_problem(db: None, method: str, path: str) -> None:
    problem(Caller()(method, path), 404, "not_found")


def test_elsewhere_a_missing_page_is_a_page(db: None) -> None:
    answer = Caller().get("/v1nope")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_the_callers_language_changes_no_sentence_of_the_contract(as_alice: Caller) -> None:
    for method, path in [("PUT", "/v1/tasks"), ("GET", f"/v1/tasks/{ID}"), ("POST", "/v1/tasks")]:
        plain = as_alice(method, path, content_type="text/plain", X_Request_Id="a")
        chinese = {"X_Request_Id": "a", "Accept_Language": "zh-hans"}
        assert as_alice(method, path, content_type="text/plain", **chinese).json() == plain.json()


def test_nothing_of_the_api_may_be_kept_by_a_shared_cache(
    as_alice: Caller, sleeper: Generator
) -> None:
    task = as_alice.submit()
    answers = [task, *(as_alice.get(path) for path in [*GETTABLE, task["Location"], "/v1/nope"])]
    answers.append(Caller().get("/v1/account"))
    for answer in answers:
        assert "private" in answer["Cache-Control"]


def test_a_wrong_host_is_a_problem(as_alice: Caller) -> None:
    answer = as_alice.client.get("/v1/tasks", headers=as_alice.headers | {"Host": "evil.example"})
    problem(answer, 400, "bad_request")


def test_the_request_id_is_the_callers_if_it_is_harmless(as_alice: Caller) -> None:
    mine = as_alice.get("/v1/nope", X_Request_Id="job-17.a_b")
    assert problem(mine, 404)["request_id"] == "job-17.a_b"
    for bad in ("a b", "x" * 65, "<script>", "a\r\nSet-Cookie: b", ""):
        other = as_alice.get("/v1/nope", X_Request_Id=bad)
        assert len(problem(other, 404)["request_id"]) == 32


def test_a_mistake_of_ours_is_a_500_that_tells_nothing(
    as_alice: Caller,
    monkeypatch: pytest.MonkeyPatch,
    sleeper: Generator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("a secret detail")

    monkeypatch.setattr(offers, "generators", fails)
    monkeypatch.setattr(links, "read", fails)
    monkeypatch.setattr("tasks_app.core.queries.view", fails)
    for path in ("/v1/generators", "/files/x", f"/v1/tasks/{ID}"):
        answer = as_alice.get(path)
        found = problem(answer, 500, "internal")
        assert "secret" not in json.dumps(found)
        assert found["request_id"] in caplog.text  # so that it can be found in the log
    assert caplog.text.count("a secret detail") >= 3


def test_a_database_error_that_will_not_pass_is_not_called_an_outage(
    as_alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> Any:
        raise ProgrammingError("no such column")

    monkeypatch.setattr(offers, "generators", fails)
    problem(as_alice.get("/v1/generators"), 500)


@contextmanager
def postgres_away() -> Iterator[None]:
    def refuse(*args: Any) -> Any:
        raise OperationalError("connection refused, password=hunter2")

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.parametrize("how", ["key", "session"])
def test_postgres_away_is_503_with_retry_after(
    as_alice: Caller, alice: Any, sleeper: Generator, how: str
) -> None:
    caller = as_alice
    if how == "session":
        caller = Caller()
        caller.client.force_login(alice)
    with postgres_away():
        asked = [caller(method, path) for path, ms in ADDRESSES.items() for method in sorted(ms)]
        asked.append(Caller().get(f"/files/{links.sign(links.Link(sleeper.pk, False, False))}"))
    for answer in asked:
        if answer.request["REQUEST_METHOD"] == "HEAD":
            assert answer.status_code == 503
            continue
        found = problem(answer, 503, "unavailable")
        assert int(answer["Retry-After"]) >= 1
        assert "hunter2" not in json.dumps(found)


def test_a_generator_that_is_set_up_wrongly_is_503_and_not_offered(
    as_alice: Caller, sleeper: Generator
) -> None:
    sleeper.settings = {"callable": "tests.artists:no_such_thing", "parameters": {}}
    sleeper.save()
    found = problem(as_alice.submit(), 503, "generator_unavailable")
    assert "no_such_thing" not in json.dumps(found)
    assert as_alice.get("/v1/generators").json() == {"items": []}
    sleeper.adapter = "nope"
    sleeper.save()
    problem(as_alice.submit(), 503, "generator_unavailable")
    assert not Task.objects.exists()


def test_generators_come_with_the_schema_of_their_parameters(
    as_alice: Caller, sleeper: Generator
) -> None:
    Generator.objects.create(name="hidden", title="Hidden", adapter="sketch", enabled=False)
    (item,) = as_alice.get("/v1/generators").json()["items"]
    assert (item["name"], item["kind"], item["paused"]) == ("sleeper", "image", False)
    assert item["params_schema"]["properties"]["prompt"]["type"] == "string"
    assert "settings" not in item and "callable" not in json.dumps(item)


def test_the_account_tells_limits_and_their_use(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    unlimited = as_alice.get("/v1/account").json()["limits"]["submit"]
    assert (unlimited["interval_seconds"], unlimited["burst"], unlimited["remaining"]) == (0, 1, 1)
    alice.account.submit_interval, alice.account.submit_burst = 10.0, 3
    alice.account.save()
    first = as_alice.submit()
    assert first["RateLimit-Policy"] == '"submit";q=3;w=30, "open";q=10000;qu="concurrent-requests"'
    assert first["RateLimit"] == '"submit";r=2;t=10, "open";r=9999'
    found = as_alice.get("/v1/account").json()
    assert found["user"] == "alice"
    assert found["limits"]["open"] == {"limit": 10_000, "used": 1}
    assert found["limits"]["running"] == {"limit": 1_000, "used": 0}
    assert found["limits"]["submit"]["remaining"] == 2
    for left in (1, 0):  # the seconds are those to one more, never those to all of them
        told = re.match(r'"submit";r=(\d);t=(\d+), ', as_alice.submit()["RateLimit"])
        assert told is not None
        assert int(told[1]) == left
        assert 1 <= int(told[2]) <= 10
    refused = as_alice.submit()
    limit = problem(refused, 429, "submit_rate")["limit"]
    assert (limit["name"], limit["size"], limit["used"]) == ("submit", 3, 3)
    assert str(limit["retry_after"]) == refused["Retry-After"]
    assert 1 <= int(refused["Retry-After"]) <= 10
    assert refused["RateLimit"].startswith('"submit";r=0;')


# --- CSRF ----------------------------------------------------------------------------------


def test_a_session_needs_the_csrf_token_and_a_key_does_not(
    as_alice: Caller, alice: Any, sleeper: Generator
) -> None:
    session = Caller()
    session.client.force_login(alice)
    task_id = as_alice.submit().json()["task_id"]
    for method, path in [
        ("POST", "/v1/tasks"),
        ("DELETE", f"/v1/tasks/{task_id}"),
        ("POST", f"/v1/tasks/{task_id}/retry"),
        ("DELETE", f"/v1/tasks/{task_id}/result"),
    ]:
        problem(session(method, path, {}), 403, "forbidden")
        problem(session(method, path, {}, X_CSRFToken="x" * 32), 403, "forbidden")
    assert Task.objects.get().state == "pending"
    token = "t" * 32
    session.client.cookies["darkroom_csrf"] = token
    assert session.submit(X_CSRFToken=token).status_code == 202
    assert session.get(f"/v1/tasks/{task_id}").status_code == 200  # reading needs no token
    assert as_alice("DELETE", f"/v1/tasks/{task_id}").status_code == 200


FORM = "application/x-www-form-urlencoded"
FORMS = {
    "plain": (b"a=1", FORM),
    "wrong token": (b"csrfmiddlewaretoken=" + b"x" * 32, FORM),
    "right token": (b"csrfmiddlewaretoken=" + b"t" * 32, FORM),
    "odd bytes": (b"%ff=%00&&&==", FORM),
    "too many fields": (b"&".join(b"a%d=1" % number for number in range(1_500)), FORM),
    "too large": (b"a=" + b"x" * (4 * 2**20), FORM),
    "no boundary": (b"broken", "multipart/form-data"),
    "broken parts": (b"broken", "multipart/form-data; boundary=x"),
    "long boundary": (b"broken", "multipart/form-data; boundary=" + "x" * 300),
}


@pytest.mark.parametrize(("body", "content_type"), FORMS.values(), ids=FORMS)
def test_a_form_sent_with_a_session_is_a_problem(
    alice: Any, body: bytes, content_type: str
) -> None:
    session = Caller()
    session.client.force_login(alice)
    session.client.cookies["darkroom_csrf"] = "t" * 32
    problem(session("POST", "/v1/tasks", body, content_type=content_type), 415)


# --- files ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("sleeper", "open_slots")
def test_files_are_served_as_pictures_and_nothing_else(as_alice: Caller, alice: Any) -> None:
    task = finished(alice)
    artifact = task.artifacts.get()
    for route, media_type, name in [
        (f"/v1/artifacts/{artifact.pk}", "image/png", "png"),
        (f"/v1/artifacts/{artifact.pk}/thumbnail", "image/webp", "webp"),
    ]:
        for query, manner in [("", "inline"), ("?download=1", "attachment")]:
            link = as_alice.get(route + query)
            assert (link.status_code, link.content) == (302, b"")
            assert link["Cache-Control"].startswith("private, ")
            file = Client().get(link["Location"])  # by whoever holds the link
            assert file.status_code == 200
            assert file["Content-Type"] == media_type
            assert file["X-Content-Type-Options"] == "nosniff"
            assert file["Content-Security-Policy"] == "default-src 'none'; sandbox"
            assert file["Content-Disposition"] == (
                f'{manner}; filename="darkroom-{task.pk}-0.{name}"'
            )
            content = b"".join(file.streaming_content)  # type: ignore[attr-defined]
            assert int(file["Content-Length"]) == len(content) > 0
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = Caller()(method, link["Location"])
        problem(answer, 405)
        assert allowed(answer) == {"GET", "HEAD"}


@pytest.mark.usefixtures("sleeper", "open_slots")
@pytest.mark.parametrize("value", ["", "2", "yes", "true", "%D9%A1", "1%00"])
def test_a_download_that_is_neither_yes_nor_no_is_422(
    as_alice: Caller, alice: Any, value: str
) -> None:
    path = f"/v1/artifacts/{finished(alice).artifacts.get().pk}"
    for route in (path, f"{path}/thumbnail"):
        problem(as_alice.get(f"{route}?download={value}"), 422, pointer="/download")
        assert as_alice.get(f"{route}?download=0").status_code == 302


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_only_read(db: None, path: str) -> None:
    assert Caller()("HEAD", path).status_code == 200
    for method in ("POST", "PUT", "DELETE", "TRACE", "OPTIONS"):
        answer = Caller()(method, path)
        problem(answer, 405, "method_not_allowed")
        assert allowed(answer) == {"GET", "HEAD"}


@pytest.mark.usefixtures("sleeper", "open_slots")
def test_a_link_that_is_not_ours_or_has_ended_opens_nothing(
    as_alice: Caller, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = finished(alice)
    artifact = task.artifacts.get()
    token = as_alice.get(f"/v1/artifacts/{artifact.pk}")["Location"].rpartition("/")[2]
    bad = [
        "",
        "x",
        token[:-1],
        token[1:],
        token + "A",
        token.replace(":", ".", 1),
        "::",
        "é",
        "a" * 20_000,
        token.partition(":")[0]
        + ":"
        + links.sign(links.Link(task.pk, False, False)).split(":", 1)[1],
        signing.dumps([str(artifact.pk), False, False], salt="another"),
        signing.dumps(str(artifact.pk), salt="darkroom.files"),
        signing.dumps(["x", False, False], salt="darkroom.files"),
        signing.dumps([1, False, False], salt="darkroom.files"),
        signing.dumps(None, salt="darkroom.files"),
        links.sign(links.Link(task.pk, False, False)),
    ]
    for one in bad:
        problem(Caller().get(f"/files/{one}"), 404)
    opened = Caller().get(f"/files/{token}")
    assert opened.status_code == 200
    assert b"".join(opened.streaming_content)
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: now + 301)
        problem(Caller().get(f"/files/{token}"), 404)
    # A file that is gone although its row is there.
    with monkeypatch.context() as patched:
        patched.setattr(store.storage(), "open", _missing)
        problem(Caller().get(f"/files/{token}"), 410, "result_expired")
    as_alice("DELETE", f"/v1/tasks/{task.pk}/result")
    problem(Caller().get(f"/files/{token}"), 404)


def _missing(*args: Any) -> Any:
    raise FileNotFoundError
