"""No save of a generator, plan or account takes a page or the API from anybody."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from tasks_app.admin import now
from tasks_app.core import offers, submission
from tasks_app.core.claim import rate_of
from tasks_app.core.errors import Unavailable
from tasks_app.core.submission import Wish
from tasks_app.gates import slots
from tasks_app.models import Account, Generator, Plan
from tests.conftest import make_generator

pytestmark = pytest.mark.django_db


def schema(prompt: Any, **more: Any) -> str:
    return json.dumps(
        {
            "callable": "builtins:len",
            "parameters": {"properties": {"prompt": prompt}, "required": ["prompt"], **more},
        }
    )


WRONG: dict[str, dict[str, Any]] = {
    "list": {"settings": "[1]"},
    "number": {"settings": "5"},
    "number for sketch": {"settings": "5", "adapter": "sketch"},
    "text": {"settings": '"x"'},
    "null": {"settings": "null"},
    "null for sketch": {"settings": "null", "adapter": "sketch"},
    "NaN": {"settings": '{"callable": "builtins:len", "parameters": {"properties": {}, "x": NaN}}'},
    "NUL": {"settings": schema({"title": "\0"})},
    "surrogate": {"settings": schema({"title": "\ud800"})},
    "deep": {"settings": "[" * 50_000 + "]" * 50_000},
    "deep object": {"settings": '{"a":' * 500 + "1" + "}" * 500},
    "long number": {"settings": '{"a": ' + "9" * 5_000 + "}"},
    "no regular expression": {"settings": schema({"type": "string", "pattern": "("})},
    "leads nowhere": {"settings": schema({"$ref": "#/$defs/none"})},
    "leads to itself": {"settings": schema({"$ref": "#/properties/prompt"})},
    "another host": {"settings": schema({"$ref": "http://127.0.0.1:9/x.json"})},
    "a file": {"settings": schema({"$ref": "file:///etc/passwd"})},
    "ends the process": {"settings": '{"callable": "ends_when_imported:x"}'},
    "timeout": {"timeout_seconds": "1e300"},
    "infinite timeout": {"timeout_seconds": "inf"},
    "expected": {"expected_seconds": "1e308"},
    "running": {"max_running": "2000000000"},
    "budget": {"failure_budget": "2000000000"},
    "no rate": {"rate_per_minute": "0"},
    "rate": {"rate_per_minute": "inf"},
    "rate that is none": {"rate_per_minute": "nan"},
    "burst": {"rate_burst": "2000000000"},
    "no burst": {"rate_burst": "0"},
    "pool of callbacks": {"pool": "callbacks"},
    "pool of polls": {"pool": "default-polls"},
}


@pytest.fixture
def form() -> dict[str, Any]:
    return {
        "name": "evil",
        "title": "Evil",
        "adapter": "python",
        "settings": '{"callable": "builtins:len"}',
        "kind": "image",
        "pool": "default",
        "max_running": "5",
        "timeout_seconds": "900",
        "expected_seconds": "10",
        "failure_budget": "3",
        "rate_burst": "1",
        "enabled": "on",
    }


@pytest.fixture(autouse=True)
def _importable(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ends_when_imported.py").write_text("raise SystemExit(1)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ends_when_imported", raising=False)


@pytest.mark.parametrize("case", WRONG)
def test_the_form_says_what_is_wrong(root: Client, form: dict[str, Any], case: str) -> None:
    answer = root.post("/admin/tasks_app/generator/add/", form | WRONG[case])
    assert answer.status_code == 200
    assert set(answer.context["adminform"].form.errors) == {
        name for name in WRONG[case] if name != "adapter"
    }
    assert not Generator.objects.exists()


def test_a_sound_one_is_saved_and_nothing_is_an_empty_object(
    root: Client, form: dict[str, Any]
) -> None:
    path = "/admin/tasks_app/generator/add/"
    assert root.post(path, form).status_code == 302
    more = {"name": "two", "adapter": "sketch", "settings": ""}
    assert root.post(path, form | more).status_code == 302
    assert Generator.objects.get(name="two").settings == {}


def test_the_page_tells_when_the_upstream_allows_the_next_start(root: Client) -> None:
    generator = make_generator("upstream", rate_per_minute=0.5)
    path = f"/admin/tasks_app/generator/{generator.pk}/change/"
    assert "allows a start now" in root.get(path).content.decode()
    slots.restore([], rates=[rate_of(generator)])
    now.forget()
    assert "allows the next start in 120 s" in root.get(path).content.decode()


BROKEN: dict[str, dict[str, Any]] = {
    "another host": {"settings": json.loads(WRONG["another host"]["settings"])},
    "leads to itself": {"settings": json.loads(WRONG["leads to itself"]["settings"])},
    "ends the process": {"settings": {"callable": "ends_when_imported:x"}},
    "unknown": {"adapter": "gone"},
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_row_breaks_nothing_but_itself(
    alice: Any, sleeper: Generator, client: Client, case: str
) -> None:
    broken = make_generator("broken")
    Generator.objects.filter(pk=broken.pk).update(**BROKEN[case])
    client.force_login(alice)
    for path in ("/", "/v1/generators", "/v1/schema"):
        assert client.get(path).status_code == 200, path
    assert [one["name"] for one in offers.generators()] == ["sleeper"]
    assert not submission.submit(alice, Wish("sleeper", {"prompt": "x"})).reused
    answer = client.post(
        "/v1/tasks",
        {"generator": "broken", "params": {"prompt": "x"}},
        content_type="application/json",
    )
    assert answer.status_code == 503
    assert answer.json()["code"] == "generator_unavailable"


@pytest.mark.parametrize("error", [SystemExit(1), RecursionError(), MemoryError(), KeyError("x")])
def test_whatever_the_code_of_a_generator_raises(
    alice: Any, sleeper: Generator, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*_: Any) -> None:
        raise error

    for name in ("_schema", "_validator"):
        monkeypatch.setattr(f"tasks_app.core.params.{name}", raising)
    assert offers.generators() == []
    with pytest.raises(Unavailable):
        submission.submit(alice, Wish("sleeper", {"prompt": "x"}))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("timeout_seconds", number) for number in (1e300, float("inf"), float("nan"))),
        *(("expected_seconds", number) for number in (1e308, float("nan"))),
        *(("max_running", 100_001), ("failure_budget", 1_001)),
        *(("rate_per_minute", 0.001), ("rate_per_minute", 60_001.0), ("rate_burst", 10_001)),
        *(("settings", document) for document in ([1], 5, "x")),
    ],
)
def test_the_table_refuses_generators_without_bounds(
    sleeper: Generator, column: str, value: Any
) -> None:
    with pytest.raises(IntegrityError, match=r"generator_\w+"), transaction.atomic():
        Generator.objects.filter(pk=sleeper.pk).update(**{column: value})


LIMITS: list[tuple[str, Any]] = [
    *(("submit_interval", number) for number in (1e12, float("inf"), float("nan"))),
    *(("weight", number) for number in (1e308, 1e-320, float("nan"))),
    *(("submit_burst", 10_001), ("max_open", 1_000_001), ("max_running", 100_001)),
]


@pytest.mark.parametrize(("column", "value"), LIMITS)
def test_limits_have_bounds_in_table_and_form(
    root: Client, alice: Any, column: str, value: Any
) -> None:
    plan = Plan.objects.get(is_default=True)
    for row in (Plan.objects.filter(pk=plan.pk), Account.objects.filter(user=alice)):
        with pytest.raises(IntegrityError, match="limits_bounded"), transaction.atomic():
            row.update(**{column: value})
    own: dict[str, Any] = {
        "name": "standard",
        "is_default": "on",
        "rank": 0,
        "max_open": 30,
        "max_running": 3,
        "submit_interval": 10,
        "submit_burst": 3,
        "weight": 1,
        column: value,
    }
    for path in (f"plan/{plan.pk}", f"account/{alice.pk}"):
        answer = root.post(f"/admin/tasks_app/{path}/change/", own)
        assert answer.status_code == 200
        assert set(answer.context["adminform"].form.errors) == {column}


def test_the_longest_interval_can_be_submitted_with(
    alice: Any, sleeper: Generator, client: Client, key_of: Callable[[Any], str]
) -> None:
    Account.objects.filter(user=alice).update(submit_interval=86_400, submit_burst=10_000)
    submission.submit(alice, Wish("sleeper", {"prompt": "x"}))
    answer = client.get("/v1/account", headers={"authorization": f"Bearer {key_of(alice)}"})
    assert answer.status_code == 200
