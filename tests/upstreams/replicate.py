"""A server that speaks Replicate's API of predictions, as ``wire-formats`` describes it."""

import json
import secrets
import time
from typing import Any

import httpx

from tests.upstreams.fake import PICTURE, Answer, Fake, Seen

TOKEN = "r8_the-secret-token"


class Replicate(Fake):
    """Predictions run for ``seconds``; the prompt says how they end."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = seconds
        self.most: int | None = None
        """Above so many at once a create is answered with 429."""
        self.predictions: dict[str, dict[str, Any]] = {}
        self.scripts: dict[str, list[dict[str, Any]]] = {}
        """What questions about a prediction with this prompt find, one after another."""
        self.peak = 0

    def name_of(self, seen: Seen) -> str:
        if seen.path.startswith("/files/"):
            return "file"
        if seen.path.endswith("/cancel"):
            return "cancel"
        if seen.method == "POST":
            return "create"
        return "account" if seen.path == "/v1/account" else "get"

    def answer(self, seen: Seen) -> Answer:
        name = self.name_of(seen)
        if name == "file":
            return Answer(200, PICTURE)
        if seen.headers.get("authorization") != f"Bearer {TOKEN}":
            return Answer(401, {"detail": f"not {seen.headers.get('authorization')}"})
        if name == "account":
            return Answer(200, {"type": "user", "username": "ada"})
        with self.lock:
            if name == "create":
                return self._create(seen)
            found = self.predictions.get(seen.path.split("/")[3])
            if found is None:
                return Answer(404, {"detail": "not found"})
            if name == "cancel":
                if self._state(found)["status"] in ("starting", "processing"):
                    found["canceled"] = True
                return Answer(200, self._state(found))
            script = self.scripts.get(found["input"]["prompt"])
            if script:
                return Answer(200, self._state(found) | script.pop(0))
            return Answer(200, self._state(found))

    def finish(self) -> None:
        """Let everything be done now."""
        with self.lock:
            for one in self.predictions.values():
                one["seconds"] = 0.0

    def running(self) -> int:
        """Return how many predictions run."""
        states = [self._state(one)["status"] for one in self.predictions.values()]
        return sum(state in ("starting", "processing") for state in states)

    def _create(self, seen: Seen) -> Answer:
        if self.most is not None and self.running() >= self.most:
            return Answer(429, {"detail": "Request was throttled."}, {"Retry-After": "1"})
        body = seen.json
        made = {
            "id": secrets.token_hex(8),
            "input": body["input"],
            "webhook": body.get("webhook"),
            "begun": time.monotonic(),
            "seconds": self.seconds,
        }
        self.predictions[made["id"]] = made
        self.peak = max(self.peak, self.running())
        return Answer(201, self._state(made))

    def _state(self, one: dict[str, Any]) -> dict[str, Any]:
        prompt = one["input"]["prompt"]
        state: dict[str, Any] = {"id": one["id"], "input": one["input"], "output": None}
        if one.get("canceled"):
            return state | {"status": "canceled", "error": None}
        if time.monotonic() - one["begun"] < one["seconds"]:
            return state | {"status": "processing", "error": None}
        if prompt.startswith("fail"):
            return state | {"status": "failed", "error": "CUDA out of memory"}
        if prompt.startswith("nsfw"):
            return state | {"status": "failed", "error": "NSFW content detected"}
        return state | {"status": "succeeded", "output": [f"{self.url}/files/{one['id']}.png"]}

    def webhook(self, prediction_id: str) -> tuple[str, bytes]:
        """Return where a webhook about a prediction goes, and its body."""
        with self.lock:
            one = self.predictions[prediction_id]
            return one["webhook"], json.dumps(self._state(one)).encode()

    def call_back(self, prediction_id: str, headers: dict[str, str]) -> httpx.Response:
        """Post the webhook of a prediction."""
        url, body = self.webhook(prediction_id)
        return httpx.post(url, content=body, headers=headers, trust_env=False)
