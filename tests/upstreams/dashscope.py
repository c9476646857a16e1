"""A server that speaks DashScope's asynchronous tasks, as ``wire-formats`` describes them."""

import secrets
from typing import Any

from tests.upstreams.fake import PICTURE, Answer, Fake, Seen

KEY = "sk-dash-secret"


class DashScope(Fake):
    """Tasks are done at once unless ``states`` says otherwise; the prompt says how they end."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: dict[str, dict[str, Any]] = {}
        self.states: list[str] = []
        """What the next questions find."""

    def name_of(self, seen: Seen) -> str:
        if seen.path.startswith("/files/"):
            return "file"
        if seen.path.endswith("/cancel"):
            return "cancel"
        return "create" if seen.method == "POST" else "get"

    def answer(self, seen: Seen) -> Answer:
        name = self.name_of(seen)
        if name == "file":
            return Answer(200, PICTURE)
        if seen.headers.get("authorization") != f"Bearer {KEY}":
            return Answer(401, {"code": "InvalidApiKey", "message": "No."})
        with self.lock:
            if name == "create":
                return self._create(seen)
            task_id = seen.path.split("/")[4]
            if name == "cancel":
                return Answer(400, {"code": "UnsupportedOperation", "message": "It runs."})
            return Answer(200, {"request_id": "r", "output": self._output(task_id)})

    def _create(self, seen: Seen) -> Answer:
        assert seen.headers.get("x-dashscope-async") == "enable"
        body = seen.json
        if body["input"]["prompt"].startswith("nsfw"):
            return Answer(400, {"code": "DataInspectionFailed", "message": "Inappropriate."})
        if body["input"]["prompt"].startswith("odd"):
            return Answer(400, {"code": "InvalidParameter", "message": "size is wrong"})
        task_id = secrets.token_hex(8)
        self.tasks[task_id] = body
        output = {"task_id": task_id, "task_status": "PENDING"}
        return Answer(200, {"request_id": "r", "output": output})

    def _output(self, task_id: str) -> dict[str, Any]:
        body = self.tasks.get(task_id)
        if body is None:
            return {"task_id": task_id, "task_status": "UNKNOWN"}
        output: dict[str, Any] = {"task_id": task_id}
        if self.states:
            return output | {"task_status": self.states.pop(0)}
        if body["input"]["prompt"].startswith("fail"):
            said = {"code": "InternalError.Timeout", "message": "It took too long."}
            return output | {"task_status": "FAILED", **said}
        results: list[dict[str, str]] = [
            {"url": f"{self.url}/files/{n}.png"} for n in range(body["parameters"].get("n", 1))
        ]
        bad = {"code": "DataInspectionFailed", "message": "Output is inappropriate."}
        if body["input"]["prompt"].startswith("half"):
            results[0] = bad
        if body["input"]["prompt"].startswith("none"):
            results = [bad for _ in results]
        return output | {"task_status": "SUCCEEDED", "results": results}
