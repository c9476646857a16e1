"""The real server, driven from its own schema: examples, coverage, fuzzing, links."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tasks_app.api.openapi import document
from tasks_app.core import credentials
from tests import openapi
from tests.conftest import make_generator, make_user
from tests.processes import ROOT, Service, eventually

HERE = Path(__file__).parent / "schemathesis"
EXAMPLES = os.environ.get("DARKROOM_SCHEMATHESIS_EXAMPLES", "25")
"""How many cases the random phases make of each operation; more take longer."""
SEED = os.environ.get("DARKROOM_SCHEMATHESIS_SEED", "1")
PARAMS = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "minLength": 1, "maxLength": 200},
        "seconds": {"type": "number", "minimum": 0, "maximum": 0.02, "default": 0},
        "n": {"type": "integer", "minimum": 1, "maximum": 4, "default": 1},
        "style": {"type": "string", "enum": ["ink", "oil"], "default": "ink"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "default": []},
    },
    "required": ["prompt"],
    "additionalProperties": False,
}

LED_TO = [
    ("POST", "/v1/tasks", "202"),
    ("POST", "/v1/tasks/{task_id}/retry", "202"),
    ("DELETE", "/v1/tasks/{task_id}", "200"),
    ("DELETE", "/v1/tasks/{task_id}/result", "200"),
]
"""What only links lead to: nobody guesses the id of a task."""


@pytest.mark.timeout(900)
def test_the_server_does_what_its_schema_says(
    service: Callable[..., Service], tmp_path: Path
) -> None:
    settings = {"callable": "tests.artists:sleeper", "parameters": PARAMS}
    make_generator("quick", settings=settings)
    # Accepts tasks and starts none, so that there are always some that wait.
    make_generator("paused", adapter="sketch", settings={}, paused=True)
    user = make_user("alice", max_open=1_000_000)
    key = credentials.create(user, "test")[1]
    darkroom = service(DARKROOM_LINK_SECONDS="3600")
    darkroom.web()
    darkroom.workers(1)
    darkroom.ticker()
    with darkroom.client(key) as client:
        artifact, token = finish_one(client)
        client.put("/v1/callbacks/settings", json={"url": "https://shop.example/hook"})
        callback = client.post("/v1/callbacks/test").json()["callback_id"]
    asked = tmp_path / "asked.txt"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(HERE / "schemathesis.toml")),
            *("run", f"{darkroom.url}/v1/schema"),
            *("--max-examples", EXAMPLES, "--seed", SEED, "--no-color"),
        ],
        env=os.environ
        | {
            "DARKROOM_API_KEY": key,
            "DARKROOM_TEST_ASKED": str(asked),
            "DARKROOM_TEST_ARTIFACT": artifact,
            "DARKROOM_TEST_TOKEN": token,
            "DARKROOM_TEST_CALLBACK": callback,
            "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
            "PYTHONPATH": str(ROOT),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    print(run.stdout[-30_000:], run.stderr[-5_000:])
    assert run.returncode == 0, "schemathesis found something: see above"
    reached = Counter(tuple(line.split()) for line in asked.read_text().splitlines())
    good = {(method, path) for method, path, status in reached if int(status) < 400}
    print(sorted(reached.items()))
    # It is not enough that nothing was found where nothing was reached. The address that the
    # schema itself was read from is left out by schemathesis.
    every = {(method, path) for method, path, _ in openapi.operations(document.build([]))}
    assert every - good == {("GET", "/v1/schema")}
    for method, path, status in LED_TO:
        assert reached[method, path, status], (method, path, status)


def finish_one(client: httpx.Client) -> tuple[str, str]:
    """Make a task with a result; returns its artifact's id and the token of a link to it."""
    body = {"generator": "quick", "params": {"prompt": "first"}}
    path = client.post("/v1/tasks", json=body).headers["Location"]
    eventually(lambda: client.get(path).json()["status"] == "success", why="it has ended")
    (artifact,) = client.get(path).json()["result"]["artifacts"]
    link = client.get(artifact["url"]).headers["Location"]
    return artifact["artifact_id"], link.rpartition("/")[2]
