"""The OpenAPI document is what is served: every route, status, header and member, both ways."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import schemathesis
from django.test import Client
from django.urls import URLPattern
from jsonschema import Draft202012Validator
from pytest_django import DjangoAssertNumQueries
from redis.exceptions import RedisError

from aigc_site import bodies
from tasks_app.api import health, tasks, urls, wishes
from tasks_app.api.openapi import document, examples, offered, problems
from tasks_app.callbacks import outbox
from tasks_app.callbacks.sending import Answer as Answered
from tasks_app.core import credentials, offers
from tasks_app.lifecycle import CallbackEvent, Delivery
from tasks_app.management.commands.bootstrap import ensure_sketch
from tasks_app.models import Account, Generator
from tasks_app.results import links
from tests import openapi
from tests.conftest import make_generator
from tests.integration.api.caller import VALID, Caller, finished
from tests.integration.api.test_addresses import postgres_away
from tests.integration.helpers import submit
from tests.openapi import Answer, Node

ROOT = Path(__file__).resolve().parents[3]
UNKNOWN = "0198e0aa-0000-7000-8000-00000000abcd"
STATIC = document.build([])


@pytest.fixture
def spec(sleeper: Generator) -> Node:
    """Return the document as it is served."""
    answer = Caller().get("/v1/schema")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    found: Node = answer.json()
    return found


def conforms(spec: Node, answer: Any, method: str, path: str) -> None:
    """Check that an answer is as described."""
    content = b"" if answer.streaming else answer.content
    one = Answer(answer.status_code, dict(answer.items()), content)
    assert openapi.complaints(spec, method, path, one) == []


# --- the document itself -------------------------------------------------------------------


def test_it_is_a_valid_openapi_document(spec: Node) -> None:
    schemathesis.openapi.from_dict(spec).validate()
    for node in spec["components"]["schemas"].values():
        Draft202012Validator.check_schema(node)
    for target in references(spec):
        assert openapi.found(spec, {"$ref": target}) is not None
    names = [node["operationId"] for _, _, node in openapi.operations(spec)]
    assert len(set(names)) == len(names)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    if isinstance(node, list):
        for one in node:
            yield from references(one)


def test_every_component_is_used(spec: Node) -> None:
    used = set(references(spec))
    kinds = ("schemas", "parameters", "headers", "responses")
    every = {f"#/components/{kind}/{name}" for kind in kinds for name in spec["components"][kind]}
    # Of methods that an address does not take no operation can speak.
    assert every - used == {"#/components/responses/Problem405"}


def test_anybody_may_read_it_and_need_not_read_it_twice(
    sleeper: Generator, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    first = Caller().get("/v1/schema")
    assert first["ETag"].startswith('"')
    assert "no-cache" in first["Cache-Control"]
    with django_assert_num_queries(0):
        for tag in (first["ETag"], f'"x", W/{first["ETag"]}', "*"):
            again = Caller().get("/v1/schema", If_None_Match=tag)
            assert (again.status_code, again.content) == (304, b"")
            assert again["ETag"] == first["ETag"]
    assert Caller().get("/v1/schema", If_None_Match='"x"').status_code == 200
    make_generator("another")
    document.clear_cache()
    changed = Caller().get("/v1/schema", If_None_Match=first["ETag"])
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


@pytest.mark.parametrize("path", ["/v1/schema", "/v1/docs"])
def test_it_is_only_read(sleeper: Generator, path: str) -> None:
    get, head = Caller().get(path), Caller()("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Type"] == get["Content-Type"]
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = Caller()(method, path)
        assert (answer.status_code, answer["Content-Type"]) == (405, "application/problem+json")
        assert set(answer["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    # Also with a key that is none, which is not looked at.
    assert Caller("dk_nobody")("GET", path).status_code == 200


def test_postgres_away_is_503(sleeper: Generator, spec: Node) -> None:
    document.clear_cache()
    with postgres_away():
        conforms(spec, Caller().get("/v1/schema"), "GET", "/v1/schema")
        conforms(spec, Caller().get("/v1/docs"), "GET", "/v1/docs")


# --- lists that exist elsewhere ------------------------------------------------------------


def routes() -> dict[str, URLPattern]:
    found = {}
    for pattern in urls.urlpatterns:
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        if pattern.callback is not urls.nothing_here:
            found[path] = pattern
    return found


def test_every_route_is_described_with_its_methods(as_alice: Caller, spec: Node) -> None:
    described = spec["paths"]
    assert set(routes()) | {"/healthz", "/readyz"} == set(described)
    for path, item in described.items():
        if path in ("/healthz", "/readyz"):
            continue
        answer = as_alice("OPTIONS", re.sub(r"\{\w+\}", UNKNOWN, path))
        allowed = {one.strip() for one in answer["Allow"].split(",")}
        methods = {method.upper() for method in item if method != "parameters"}
        assert methods == allowed - {"HEAD", "OPTIONS"}, path
        assert ("HEAD" in allowed) == ("GET" in methods)


def test_every_parameter_and_field_is_described(spec: Node) -> None:
    listing = openapi.by_id(spec, "listTasks")["parameters"]
    assert {one["name"] for one in listing} == wishes._QUERY
    submission = spec["components"]["schemas"]["Submission.sleeper"]
    assert set(submission["properties"]) == wishes._FIELDS
    retry = spec["components"]["schemas"]["RetryRequest"]
    assert set(retry["properties"]) == wishes._RETRY_FIELDS


def _constants(node: ast.Call) -> Iterator[tuple[str, str]]:
    """Yield the codes that a call gives: (what is called, code)."""
    name = ast.unparse(node.func).rpartition(".")[2]
    place = {"FieldError": 2, "add": 2, "_invalid": 2, "problem": 1, "response": 1}.get(name)
    given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
    given += [node.args[place]] if place is not None and len(node.args) > place else []
    for value in given:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield name, value.value


def _codes() -> tuple[set[str], set[str]]:
    """Return the codes of problems and of fields that the sources name."""
    of_problems: set[str] = set()
    of_fields: set[str] = set()
    folders = [*(ROOT / "tasks_app/api").glob("*.py"), *(ROOT / "tasks_app/core").glob("*.py")]
    for path in folders:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                for name, code in _constants(node):
                    fields = name in ("FieldError", "add", "_invalid")
                    (of_fields if fields else of_problems).add(code)
            if isinstance(node, ast.ClassDef):
                for line in node.body:
                    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
                        of_problems.add(ast.literal_eval(line.value))
    return of_problems, of_fields


def test_every_code_is_described_and_every_described_one_exists() -> None:
    from tasks_app.api.problems import _CODES
    from tasks_app.core import callbacks, limits
    from tasks_app.core.params import _SENTENCES

    of_problems, of_fields = _codes()
    of_fields |= set(callbacks.CODES.values())
    of_problems |= {code for code, _ in limits._SENTENCES.values()}
    of_fields |= {code for _, code in _SENTENCES.values()} | {
        "required",
        "unknown_field",
        "invalid",
    }
    described = {code for table in problems.CODES.values() for code in table}
    # `too_many_requests` is the class's own, which is never raised without another.
    assert of_problems | set(_CODES.values()) - {"error"} == described | {"too_many_requests"}
    assert of_fields == set(problems.FIELD_CODES)
    text = (ROOT / "docs/api.md").read_text()
    assert [code for code in described if f"`{code}`" not in text] == []


# --- answers -------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_slots")
def test_every_success_is_as_described(as_alice: Caller, alice: Any, spec: Node) -> None:
    task = finished(alice)
    waiting = submit(alice)
    artifact = task.artifacts.get()
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/v1/tasks", {}),
        ("GET", "/v1/tasks/{task_id}", {"task_id": task.pk}),
        ("GET", "/v1/tasks/{task_id}", {"task_id": waiting.pk}),
        ("GET", "/v1/tasks/{task_id}/events", {"task_id": task.pk}),
        ("GET", "/v1/artifacts/{artifact_id}", {"artifact_id": artifact.pk}),
        ("GET", "/v1/artifacts/{artifact_id}/thumbnail", {"artifact_id": artifact.pk}),
        ("GET", "/v1/generators", {}),
        ("GET", "/v1/account", {}),
        ("GET", "/v1/schema", {}),
        ("GET", "/v1/docs", {}),
        ("GET", "/healthz", {}),
        ("GET", "/readyz", {}),
        ("DELETE", "/v1/tasks/{task_id}", {"task_id": waiting.pk}),
        ("GET", "/v1/tasks/{task_id}", {"task_id": waiting.pk}),
        ("POST", "/v1/tasks/{task_id}/retry", {"task_id": waiting.pk}),
        ("DELETE", "/v1/tasks/{task_id}/result", {"task_id": task.pk}),
        ("GET", "/v1/tasks/{task_id}", {"task_id": task.pk}),
        ("PUT", "/v1/callbacks/settings", {}),
        ("GET", "/v1/callbacks/settings", {}),
        ("POST", "/v1/callbacks/secret", {}),
        ("POST", "/v1/callbacks/test", {}),
        ("POST", "/v1/callbacks/redeliver", {}),
        ("GET", "/v1/callbacks", {}),
    ]
    told = tell(alice)
    asked += [
        (method, path, {"callback_id": told})
        for method, path in (
            ("GET", "/v1/callbacks/{callback_id}"),
            ("POST", "/v1/callbacks/{callback_id}/redeliver"),
        )
    ]
    seen = set()
    for method, path, values in asked:
        answer = as_alice(method, path.format(**values), BODIES.get((method, path)))
        assert answer.status_code < 400, answer.content
        conforms(spec, answer, method, path)
        seen.add((method, path))
    every = {(method, path) for method, path, _ in openapi.operations(spec)}
    assert every - seen == {("POST", "/v1/tasks"), ("GET", "/files/{token}")}


@pytest.mark.usefixtures("open_slots")
def test_a_submission_its_replay_and_a_poll_without_news_are_as_described(
    as_alice: Caller, alice: Any, spec: Node
) -> None:
    Account.objects.filter(user=alice).update(submit_interval=1, submit_burst=9)
    task = ""
    for status in (202, 200):
        answer = as_alice.submit(Idempotency_Key="k")
        assert answer.status_code == status
        conforms(spec, answer, "POST", "/v1/tasks")
        task = answer["Location"]
    as_alice("DELETE", task)
    for status in (202, 200):
        answer = as_alice("POST", f"{task}/retry", {"idempotency_key": "r"})
        assert answer.status_code == status
        conforms(spec, answer, "POST", "/v1/tasks/{task_id}/retry")
    same = as_alice.get(task, If_None_Match=as_alice.get(task)["ETag"])
    assert same.status_code == 304
    conforms(spec, same, "GET", "/v1/tasks/{task_id}")
    etag = Caller().get("/v1/schema")["ETag"]
    conforms(spec, Caller().get("/v1/schema", If_None_Match=etag), "GET", "/v1/schema")


@pytest.mark.usefixtures("open_slots")
@pytest.mark.parametrize(("asked", "status"), [("", 200), ("bytes=0-1", 206), ("bytes=9999-", 416)])
def test_a_file_is_as_described(
    as_alice: Caller, alice: Any, spec: Node, asked: str, status: int
) -> None:
    artifact = finished(alice).artifacts.get()
    link = as_alice.get(f"/v1/artifacts/{artifact.pk}")["Location"]
    answer = Client().get(link, headers={"Range": asked} if asked else {})
    assert answer.status_code == status
    conforms(spec, answer, "GET", "/files/{token}")
    answer.close()


BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/tasks"): VALID,
    ("PUT", "/v1/callbacks/settings"): {"url": "https://shop.example/"},
    ("POST", "/v1/callbacks/redeliver"): {"since": "2026-01-01T00:00:00Z"},
    ("POST", "/v1/callbacks/test"): {"url": "https://shop.example/"},
}


def tell(user: Any) -> str:
    """Put a callback with an attempt into the outbox; returns its id."""
    url = "https://shop.example/"
    row = outbox.write(user.pk, UUID(UNKNOWN), CallbackEvent.SUCCESS, url, b'{"type": "x"}')
    (job,) = [one for one in outbox.take(outbox.Room(9)) if one.id == row.pk]
    outbox.settle(job, Answered(Delivery.REFUSED, 503, b"busy", seconds=0.1))
    return str(row.pk)


class World:
    """What refusals need: alice's things, and ways to spoil them."""

    def __init__(self, alice: Any, caller: Caller, patch: pytest.MonkeyPatch) -> None:
        self.alice, self.caller, self.patch = alice, caller, patch
        self.task = finished(alice)
        self.artifact = self.task.artifacts.get()
        token = caller.get(f"/v1/artifacts/{self.artifact.pk}")["Location"]
        self.values = {
            "task_id": str(self.task.pk),
            "artifact_id": str(self.artifact.pk),
            "callback_id": tell(alice),
            "token": token.rpartition("/")[2],
        }

    def ask(self, method: str, path: str, **headers: str) -> Any:
        body = BODIES.get((method, path))
        return self.caller(method, path.format(**self.values), body, **headers)


Provocation = Callable[[World, str, str], Any]


def _bad_host(world: World, method: str, path: str) -> Any:
    return world.ask(method, path, Host="evil.example")


def _no_key(world: World, method: str, path: str) -> Any:
    world.caller.headers = {}
    return world.ask(method, path)


def _no_token(world: World, method: str, path: str) -> Any:
    world.caller.headers = {}
    world.caller.client.force_login(world.alice)
    return world.ask(method, path)


def _unknown(world: World, method: str, path: str) -> Any:
    world.values = dict.fromkeys(world.values, UNKNOWN)
    return world.ask(method, path)


def _removed(world: World, method: str, path: str) -> Any:
    if path.startswith("/files/"):

        def missing(*_: Any) -> Any:
            raise FileNotFoundError

        world.patch.setattr("tasks_app.results.store.storage", lambda: _Storage(missing))
        return world.ask(method, path)
    world.caller("DELETE", f"/v1/tasks/{world.task.pk}/result")
    return world.ask(method, path)


class _Storage:
    def __init__(self, missing: Any) -> None:
        self.open = missing


def _large(world: World, method: str, path: str) -> Any:
    return world.caller(method, path.format(**world.values), b" " * (4 * 2**20 + 1))


def _slow(world: World, method: str, path: str) -> Any:
    target = path.format(**world.values)
    refused: dict[str, Any] = {bodies.REFUSED: 408}
    return world.caller.client.generic(method, target, **refused)


def _text(world: World, method: str, path: str) -> Any:
    target = path.format(**world.values)
    return world.caller(method, target, b"{}", content_type="text/plain")


def _beyond(world: World, method: str, path: str) -> Any:
    return world.ask(method, path, Range="bytes=99999999-")


def _unfit(world: World, method: str, path: str) -> Any:
    if method == "GET":
        return world.ask(method, f"{path}?nope=1&download=yes")
    if method == "DELETE":
        world.values["task_id"] = str(submit(world.alice).pk)
        return world.ask(method, path)
    return world.caller(method, path.format(**world.values), {"nope": 1})


def _too_fast(world: World, method: str, path: str) -> Any:
    Account.objects.filter(user=world.alice).update(submit_interval=99, submit_burst=1)
    for _ in range(5):
        world.ask(method, path)
    return world.ask(method, path)


def _broken(world: World, method: str, path: str) -> Any:
    def fails(*_: Any, **__: Any) -> Any:
        raise ValueError("a secret detail")

    document.clear_cache()
    for module, name in (
        (credentials, "owner_of"),
        (links, "read"),
        (offers, "generators"),
        (health, "JsonResponse"),
    ):
        world.patch.setattr(module, name, fails)
    return world.ask(method, path)


def _away(world: World, method: str, path: str) -> Any:
    credentials.clear_caches()
    document.clear_cache()
    world.patch.setattr("tasks_app.core.credentials.client", _no_redis)
    with ExitStack() as stack:
        stack.enter_context(postgres_away())
        return world.ask(method, path)


def _no_redis() -> Any:
    raise RedisError("away")


PROVOCATIONS: dict[int, Provocation] = {
    400: _bad_host,
    401: _no_key,
    403: _no_token,
    404: _unknown,
    408: _slow,
    410: _removed,
    413: _large,
    415: _text,
    416: _beyond,
    422: _unfit,
    429: _too_fast,
    500: _broken,
    503: _away,
}
REFUSALS = [
    (method, path, int(status))
    for method, path, node in openapi.operations(STATIC)
    for status in node["responses"]
    if int(status) >= 400
]


@pytest.mark.usefixtures("open_slots")
@pytest.mark.parametrize(("method", "path", "status"), REFUSALS)
def test_every_described_refusal_happens_as_described(
    as_alice: Caller,
    alice: Any,
    spec: Node,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    status: int,
) -> None:
    world = World(alice, as_alice, monkeypatch)
    answer = PROVOCATIONS[status](world, method, path)
    assert answer.status_code == status, answer
    conforms(spec, answer, method, path)


def test_a_wrong_method_is_as_described(as_alice: Caller, spec: Node) -> None:
    answer = as_alice("PUT", "/v1/tasks")
    described = spec["components"]["responses"]["Problem405"]
    item = {"put": {"responses": {"405": described}}}
    changed = spec | {"paths": spec["paths"] | {"/v1/tasks": item}}
    conforms(changed, answer, "PUT", "/v1/tasks")


def test_what_is_not_described_is_noticed(as_alice: Caller, spec: Node) -> None:
    """The checks above can fail."""
    path = as_alice.submit()["Location"]
    answer = as_alice.get(path)

    def said(**changes: Any) -> list[str]:
        one = Answer(200, dict(answer.items()), json.dumps(answer.json() | changes).encode())
        return openapi.complaints(spec, "GET", "/v1/tasks/{task_id}", one)

    assert said() == []
    assert said(colour="red")
    assert said(status="asleep")
    assert said(error={"code": "bored", "message": "", "retryable": True})
    assert said(error={"code": "internal", "message": "", "retryable": True, "more": 1})
    assert said(links={})
    bare = Answer(200, {"Content-Type": "application/json"}, answer.content)
    assert openapi.complaints(spec, "GET", "/v1/tasks/{task_id}", bare)
    odd = Answer(200, dict(answer.items()) | {"Content-Range": "0-1"}, answer.content)
    assert openapi.complaints(spec, "GET", "/v1/tasks/{task_id}", odd)
    teapot = Answer(418, dict(answer.items()), answer.content)
    assert openapi.complaints(spec, "GET", "/v1/tasks/{task_id}", teapot)


# --- examples and links --------------------------------------------------------------------


def shown(node: Node) -> list[Any]:
    """Return the examples of an answer or body."""
    return [
        one["value"]
        for content in node.get("content", {}).values()
        for one in content.get("examples", {}).values()
    ]


def test_every_example_is_of_todays_shape(spec: Node) -> None:
    number = 0
    for _, _, node in openapi.operations(spec):
        for answer in node["responses"].values():
            described = openapi.found(spec, answer)
            for value in shown(described):
                (content,) = described["content"].values()
                assert openapi.errors_of(spec, content["schema"], value) == []
                number += 1
    assert number >= 10


def test_the_examples_of_requests_are_accepted(as_alice: Caller, alice: Any) -> None:
    ensure_sketch()
    document.clear_cache()
    spec = Caller().get("/v1/schema").json()
    (submission,) = shown(openapi.by_id(spec, "submitTask")["requestBody"])
    answer = as_alice.submit(submission)
    assert answer.status_code == 202, answer.content
    assert set(answer.json()) == set(examples.PENDING)
    assert set(answer.json()["params"]) == set(examples.PENDING["params"])
    as_alice("DELETE", answer["Location"])
    (retry,) = shown(openapi.by_id(spec, "retryTask")["requestBody"])
    assert as_alice("POST", answer["Location"] + "/retry", retry).status_code == 202
    account = as_alice.get("/v1/account").json()
    assert set(account["limits"]["submit"]) == set(examples.ACCOUNT["limits"]["submit"])


def pointed(value: Any, expression: str) -> Any:
    """Evaluate ``$response.body#/a/0/b``."""
    for part in expression.removeprefix("$response.body#/").split("/"):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def test_every_link_leads_somewhere_from_an_example(spec: Node) -> None:
    number = 0
    for _, _, node in openapi.operations(spec):
        for answer in node["responses"].values():
            described = openapi.found(spec, answer)
            for link in described.get("links", {}).values():
                target = openapi.by_id(spec, link["operationId"])
                path = next(p for _, p, n in openapi.operations(spec) if n is target)
                given = spec["paths"][path].get("parameters", []) + target["parameters"]
                names = {openapi.found(spec, one)["name"] for one in given}
                assert set(link["parameters"]) <= names
                for expression in link["parameters"].values():
                    reached = [_try(value, expression) for value in shown(described)]
                    assert any(reached), (link, path)
                number += 1
    assert number >= 20


def _try(value: Any, expression: str) -> Any:
    try:
        return pointed(value, expression)
    except (LookupError, TypeError):
        return None


# --- what generators add -------------------------------------------------------------------


def test_each_generator_brings_the_schema_of_its_parameters(sleeper: Generator) -> None:
    own = {
        "properties": {
            "prompt": {"$ref": "#/$defs/words"},
            "again": {"$ref": "#", "default": None},
            "size": {"$ref": "#/properties/prompt"},
        },
        "required": ["prompt", "size"],
        "$defs": {"words": {"type": "string", "minLength": 1}},
    }
    own["properties"] = {"prompt": {"$ref": "#/$defs/words"}, "size": {"$ref": "#/$defs/words"}}
    make_generator("own.model-2", settings={"callable": "tests.artists:sleeper", "parameters": own})
    make_generator("hidden", enabled=False)
    make_generator("broken", settings={"callable": "tests.artists:no_such_thing"})
    spec = Caller().get("/v1/schema").json()
    schemas = spec["components"]["schemas"]
    assert schemas["Submission"]["discriminator"]["mapping"] == {
        name: f"#/components/schemas/Submission.{name}" for name in ("own.model-2", "sleeper")
    }
    assert schemas["Params.own.model-2"]["properties"]["prompt"] == {
        "$ref": "#/components/schemas/Params.own.model-2/$defs/words"
    }
    assert "$schema" not in json.dumps(schemas) and "$id" not in json.dumps(schemas)
    schemathesis.openapi.from_dict(spec).validate()

    def wrong(**body: Any) -> bool:
        return bool(openapi.errors_of(spec, schemas["Submission"], body))

    params = {"prompt": "p", "size": "s"}
    assert not wrong(generator="own.model-2", params=params)
    assert not wrong(generator="sleeper", params={"prompt": "p"}, priority="low", max_wait=None)
    assert wrong(generator="sleeper", params=params)
    assert wrong(generator="own.model-2", params={"prompt": "", "size": "s"})
    assert wrong(generator="own.model-2")
    assert wrong(generator="hidden", params={"prompt": "p"})
    assert wrong(params={"prompt": "p"})
    assert wrong(generator="sleeper", params={"prompt": "p"}, nope=1)


def test_without_generators_there_is_still_a_document(as_alice: Caller) -> None:
    spec = Caller().get("/v1/schema").json()
    schemathesis.openapi.from_dict(spec).validate()
    assert "discriminator" not in spec["components"]["schemas"]["Submission"]
    assert Caller().get("/v1/docs").status_code == 200


def test_its_size_is_bounded_and_what_is_beyond_is_accepted_all_the_same(
    as_alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_generator(name)
    large = {"properties": {"prompt": {"type": "string", "description": "x" * 70_000}}}
    large["required"] = ["prompt"]  # type: ignore[assignment]
    settings = {"callable": "tests.artists:sleeper", "parameters": large}
    make_generator("large", settings=settings)
    monkeypatch.setattr(offered, "MAX_GENERATORS", 2)
    answer = Caller().get("/v1/schema")
    assert len(answer.content) < 200_000
    spec = answer.json()
    schemas = spec["components"]["schemas"]
    assert {name for name in schemas if name.startswith("Params.")} == {"Params.a", "Params.b"}
    schemathesis.openapi.from_dict(spec).validate()
    for name in ("a", "c", "large"):
        body = {"generator": name, "params": {"prompt": "p"}}
        assert openapi.errors_of(spec, schemas["Submission"], body) == []
        assert as_alice.submit(body).status_code == 202
    assert openapi.errors_of(spec, schemas["Submission"], {"generator": "a", "params": {}})


# --- the page ------------------------------------------------------------------------------


def test_the_page_shows_everything_and_loads_nothing_from_elsewhere(
    spec: Node, sleeper: Generator
) -> None:
    sleeper.settings["parameters"]["properties"]["prompt"]["description"] = "<script>alert(1)"
    sleeper.save()
    document.clear_cache()
    answer = Caller().get("/v1/docs")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = answer["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy
    html = answer.content.decode()
    for method, path, node in openapi.operations(spec):
        assert f'id="{node["operationId"]}"' in html
        assert f"<code>{path}</code>" in html and method in html
    for name in spec["components"]["schemas"]:
        assert f'id="schema-{name}"' in html
    anchors = set(re.findall(r'\bid="([^"]+)"', html))
    assert set(re.findall(r'href="#([^"]+)"', html)) - anchors <= {"i-logo", "i-sun", "i-moon"}
    loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="([^"]+)"', html)
    assert loaded and all(not urlsplit(one).netloc for one in loaded)
    scripts = re.findall(r"<script\b[^>]*>(.*?)</script>", html, re.DOTALL)
    assert not any(text.strip() for text in scripts)
    assert not re.search(r"\son\w+=|\sstyle=|<style", html)
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html


def test_the_internal_names_of_the_history_are_not_shown(spec: Node) -> None:
    assert not tasks._INTERNAL & set(json.dumps(examples.EVENTS).split('"'))
