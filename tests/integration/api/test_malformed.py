"""What cannot be understood is refused with a sentence, stores nothing and costs nothing."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tasks_app.models import Account, Generator, IdempotencyKey, Task
from tests.conftest import make_user
from tests.integration.api.caller import VALID, Caller, problem

ID = "0198e0aa-0000-7000-8000-00000000abcd"


@pytest.fixture
def call(sleeper: Generator, key_of: Callable[[Any], str]) -> Iterator[Caller]:
    """Return a caller whose submissions are counted; in the end there must be none."""
    user = make_user("carol", submit_interval=10.0, submit_burst=1)
    yield Caller(key_of(user))
    assert not Task.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert Account.objects.get(user=user).submit_tat is None


def wish(**fields: Any) -> bytes:
    """Return a submission with some fields set."""
    return json.dumps(VALID | fields).encode()


def params(**fields: Any) -> bytes:
    """Return a submission with some parameters set."""
    return wish(params={"prompt": "a picture"} | fields)


def nested(depth: int) -> bytes:
    """Return a submission whose metadata is nested."""
    inner = b'{"a":' * depth + b"1" + b"}" * depth
    return wish(metadata="HERE").replace(b'"HERE"', inner)


def each(make: Callable[..., bytes], field: str, *values: Any) -> list[tuple[bytes, str]]:
    """Return submissions in which one field has each of these values, and its pointer."""
    place = "/params" if make is params else ""
    return [(make(**{field: value}), f"{place}/{field}") for value in values]


UNREADABLE: dict[str, bytes] = {
    "text": b"a picture, please",
    "half": wish()[:-1],
    "two": wish() + wish(),
    "truncated UTF-8": b'{"generator": "sleeper", "params": {"prompt": "\xe5\xa4"}}',
    "not UTF-8": b'{"generator": "sleeper", "params": {"prompt": "caf\xe9"}}',
    "UTF-16": wish().decode().encode("utf-16"),
    "BOM": b"\xef\xbb\xbf" + wish(),
    "escaped lone surrogate": b'{"generator": "sleeper", "params": {"prompt": "\\ud83d"}}',
    "reversed surrogates": b'{"generator": "sleeper", "params": {"prompt": "\\udc00\\ud800"}}',
    "surrogate in a name": b'{"generator": "sleeper", "params": {"prompt": "p", "\\udfff": 1}}',
    "raw surrogate": b'{"generator": "sleeper", "params": {"prompt": "\xed\xa0\x80"}}',
    "raw NUL": b'{"generator": "sleeper", "params": {"prompt": "a\x00b"}}',
    "NaN": params(seconds=float("nan")),
    "Infinity": params(seconds=float("inf")),
    "-Infinity": params(seconds=float("-inf")),
    "beyond a double": params().replace(b'"a picture"', b'"a picture", "n": 1e400'),
    "400 digits": params().replace(b'"a picture"', b'"a picture", "n": 1' + b"0" * 400),
    "single quotes": b"{'generator': 'sleeper'}",
    "comment": b"{} // nothing",
    "trailing comma": b'{"generator": "sleeper",}',
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_json_is_400(call: Caller, raw: bytes) -> None:
    problem(call("POST", "/v1/tasks", raw), 400, "malformed")


INVALID: list[tuple[bytes, str]] = [
    *[(raw, "") for raw in (b"[]", b'"text"', b"1", b"null", b"true", b"[" * 100_000)],
    *[(raw, "/generator") for raw in (b"", b"{}", b'{"params": {"prompt": "p"}}')],
    *each(wish, "generator", 1, None, [], {}, True, "", "nope", "a\0b"),
    (wish(generator="x" * 2_000_000), "/generator"),
    *each(wish, "params", None, [], "text", 1, False),
    (wish(params={}), "/params/prompt"),
    (b'{"generator": "sleeper"}', "/params/prompt"),
    *each(params, "prompt", 1, None, [], {}, True, "", "a\0b", "x" * 2_000_000),
    *each(params, "n", -1, 0, 5, 1.5, True, "1", None, [1], 10**30, -(10**30), 2**63, 1e19),
    *each(params, "seconds", -1, -1e-300, "1", True, None, 1e300),
    (params(nope=1), "/params/nope"),
    (params(**{"a/b~c": 1}), "/params/a~1b~0c"),
    (params(**{"a\0b": 1}), "/params"),
    (wish(nope=1), "/nope"),
    (wish(**{"a/b": 1}), "/a~1b"),
    (wish(owner=1), "/owner"),
    (wish(retry_of=ID), "/retry_of"),
    *each(wish, "priority", "urgent", "HIGH", "", 1, None, [], True),
    *each(wish, "max_wait", 0, -1, 0.5, 86_401, 1e18, 1e300, 10**30, "60", True, []),
    *each(wish, "allow_degraded", 0, 1, "true", None, []),
    *each(wish, "metadata", None, [], "text", 1, {"a": "x" * 2048}),
    (wish(metadata={"a": {"b": ["c", "a\0b"]}}), "/metadata/a/b/1"),
    (wish(metadata={"a\0b": 1}), "/metadata"),
    (wish(metadata={"a": 1e20}), "/metadata/a"),
    (wish(metadata={"a": -(2.0**63)}), "/metadata/a"),
    (wish(metadata={"a": -(2**63)}), "/metadata/a"),
    *each(wish, "idempotency_key", "", "x" * 256, "clé", "a b", "a\n", 1, [], True),
    (nested(1_000), "/metadata/a/a"),
    (nested(100_000), ""),
]


@pytest.mark.parametrize(
    ("raw", "pointer"), INVALID, ids=[f"{p or 'body'} {raw[:60]!r}" for raw, p in INVALID]
)
def test_what_does_not_fit_is_422_and_named(call: Caller, raw: bytes, pointer: str) -> None:
    found = problem(call("POST", "/v1/tasks", raw), 422, pointer=pointer)
    assert len(json.dumps(found)) < 4_000  # nothing of what was sent comes back


def test_every_wrong_field_is_named_at_once_and_once(call: Caller) -> None:
    body = {"generator": 1, "priority": 1, "metadata": 1, "nope": 1, "params": {"n": 9}}
    found = problem(call.submit(body), 422)
    pointers = [error["pointer"] for error in found["errors"]]
    assert sorted(pointers) == ["/generator", "/metadata", "/nope", "/priority"]
    # A schema that requires two fields reports each of them once.
    generator = Generator.objects.get()
    schema = generator.settings["parameters"] | {"required": ["prompt", "style"]}
    generator.settings = generator.settings | {"parameters": schema}
    generator.save()
    found = problem(call.submit({"generator": "sleeper", "params": {"n": 9}}), 422)
    pointers = [error["pointer"] for error in found["errors"]]
    assert sorted(pointers) == ["/params/n", "/params/prompt", "/params/style"]


def test_a_body_of_too_many_values_is_refused_before_they_are_walked(call: Caller) -> None:
    many = b"[" + b"1," * 1_900_000 + b"1]"
    prompt = wish(params={"prompt": "HERE"}).replace(b'"HERE"', many)
    deep = wish(params={"prompt": "HERE"}).replace(b'"HERE"', b"[" + b"[1]," * 9_000 + b"[1]]")
    names = params(**{f"n{number}": 1 for number in range(200_000)})
    for raw, pointer in ((prompt, "/params/prompt"), (deep, "/params/prompt"), (names, "/params")):
        assert len(raw) < 4 * 2**20
        begun = time.thread_time()
        found = problem(call("POST", "/v1/tasks", raw), 422, pointer=pointer)
        # Walking through them took four seconds, reading takes a tenth of one.
        assert time.thread_time() - begun < 1
        assert [error["code"] for error in found["errors"]] == ["too_many"]
        assert found["errors"][0]["pointer"].startswith(pointer)


def test_a_body_above_the_limit_is_413(call: Caller) -> None:
    problem(call("POST", "/v1/tasks", params(prompt="x" * (4 * 2**20))), 413, "too_large")
    for path in (f"/v1/tasks/{ID}/retry",):
        problem(call("POST", path, b" " * (4 * 2**20 + 1)), 404)  # not alice's: nothing is read


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "nonsense",
        "application/xml; charset=nonsense",
    ],
)
def test_another_content_type_is_415(call: Caller, content_type: str) -> None:
    problem(call("POST", "/v1/tasks", wish(), content_type=content_type), 415)


KEYS = ["", " ", "x" * 256, "clé", "\x7f", "a b", '""', '"' + "x" * 256 + '"', "a\tb", '"a b"']


@pytest.mark.parametrize("key", KEYS)
def test_an_idempotency_key_that_is_none_is_400(call: Caller, key: str) -> None:
    problem(call.submit(Idempotency_Key=key), 400, "invalid_key")


def test_two_different_idempotency_keys_are_400(call: Caller) -> None:
    answer = call("POST", "/v1/tasks", wish(idempotency_key="a"), Idempotency_Key="b")
    problem(answer, 400, "idempotency_keys_differ")


QUERIES: list[tuple[str, str]] = [
    *[(f"limit={bad}", "/limit") for bad in ("0", "-1", "101", "1e1", "x", "", "%D9%A3", "9" * 99)],
    *[(f"cursor={bad}", "/cursor") for bad in ("", "x", ID.upper(), ID[:-1], f"{{{ID}}}", "%00")],
    *[(f"status={bad}", "/status") for bad in ("done", "pending,done", "PENDING", "%00", "*")],
    *[(f"ids={bad}", "/ids") for bad in ("x", f"{ID},x", ID.upper(), ID.replace("-", ""), "%00")],
    ("ids=" + ",".join([ID] * 101), "/ids"),
    (f"ids={ID}&ids={ID}", "/ids"),
    (f"ids={ID}&status=pending", "/status"),
    ("limit=1&limit=2", "/limit"),
    ("generator=%00", "/generator"),
    ("nope=1", "/nope"),
    ("format=xml", "/format"),
    ("%00=1", "/\0"),
]


@pytest.mark.parametrize(("query", "pointer"), QUERIES, ids=[q[:40] for q, _ in QUERIES])
def test_a_query_that_does_not_fit_is_422_and_named(call: Caller, query: str, pointer: str) -> None:
    problem(call.get(f"/v1/tasks?{query}"), 422, pointer=pointer)


def test_too_many_query_parameters_are_400(call: Caller) -> None:
    problem(call.get("/v1/tasks?" + "a=1&" * 1_500), 400)


ROUTES = [
    ("GET", "/v1/tasks/{}"),
    ("DELETE", "/v1/tasks/{}"),
    ("POST", "/v1/tasks/{}/retry"),
    ("DELETE", "/v1/tasks/{}/result"),
    ("GET", "/v1/tasks/{}/events"),
    ("GET", "/v1/artifacts/{}"),
    ("GET", "/v1/artifacts/{}/thumbnail"),
]
NOT_IDS = [
    "x",
    "0",
    "-1",
    ID.upper(),
    ID.replace("-", ""),
    f"%7B{ID}%7D",
    f"urn:uuid:{ID}",
    ID[:-1],
    ID + "0",
    f"{ID}/",
    f"{ID}%00",
    f"{ID}%0A",
    f"%20{ID}",
    "%00",
    "%FF%FE",
    "%D9%A3" * 36,
    "../account/..",
    "a" * 20_000,
    "%25s",
    "';--",
]


@pytest.mark.parametrize("bad", NOT_IDS, ids=[bad[:30] for bad in NOT_IDS])
def test_an_id_that_is_none_is_404_on_every_route(call: Caller, bad: str) -> None:
    for method, route in ROUTES:
        problem(call(method, route.format(bad)), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [([], ""), ("text", ""), (1, ""), ({"params": {}}, "/params"), ({"a/b": 1}, "/a~1b")],
)
def test_a_retry_takes_an_idempotency_key_and_nothing_else(
    as_alice: Caller, sleeper: Generator, body: Any, pointer: str
) -> None:
    task_id = as_alice.submit().json()["task_id"]
    as_alice("DELETE", f"/v1/tasks/{task_id}")
    answer = as_alice("POST", f"/v1/tasks/{task_id}/retry", body)
    problem(answer, 422, pointer=pointer)
    problem(as_alice("POST", f"/v1/tasks/{task_id}/retry", b"{"), 400, "malformed")
    assert Task.objects.count() == 1
