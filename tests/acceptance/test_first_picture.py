"""From prompt to picture, over HTTP, with a real server, worker and ticker."""

import io
from typing import Any

import httpx
from PIL import Image

from tests.acceptance.conftest import Running
from tests.processes import eventually


def test_submit_poll_download_and_replay(running: Running) -> None:
    with running.service.client(running.api_key) as client:
        body = {"generator": "sketch", "params": {"prompt": "dawn", "width": 256, "height": 320}}
        answer = client.post("/v1/tasks", json=body, headers={"Idempotency-Key": "k1"})
        assert answer.status_code == 202, answer.text
        task = answer.json()
        assert answer.headers["Location"] == f"/v1/tasks/{task['task_id']}"
        assert int(answer.headers["Retry-After"]) >= 1
        assert task["status"] == "pending"

        done = eventually(lambda: _ended(client, task["links"]["self"]))
        assert done is not None
        assert done["status"] == "success", done
        (artifact,) = done["result"]["artifacts"]
        file = client.get(artifact["url"], follow_redirects=True)
        assert file.headers["Content-Type"] == "image/png"
        picture = Image.open(io.BytesIO(file.content), formats=["PNG"])
        assert picture.size == (256, 320) == (artifact["width"], artifact["height"])
        assert len(file.content) == artifact["bytes"]
        small = client.get(artifact["thumbnail_url"], follow_redirects=True)
        assert small.headers["Content-Type"] == "image/webp"

        again = client.post("/v1/tasks", json=body, headers={"Idempotency-Key": '"k1"'})
        assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
        assert again.json()["reused"] is True
        assert again.json()["task_id"] == task["task_id"]
        other = client.post(
            "/v1/tasks",
            json={**body, "params": {"prompt": "dusk"}},
            headers={"Idempotency-Key": "k1"},
        )
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def _ended(client: httpx.Client, path: str) -> dict[str, Any] | None:
    task: dict[str, Any] = client.get(path).json()
    return task if task["status"] in ("success", "failed", "timeout") else None
