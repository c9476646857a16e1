"""A server that speaks OpenAI's images and videos, as ``wire-formats`` describes them."""

import base64
import secrets
import threading
import time
from email.parser import BytesParser
from typing import Any

from tests.upstreams.fake import PICTURE, Answer, Fake, Seen

KEY = "sk-the-secret-key"


class OpenAI(Fake):
    """Pictures take ``seconds``; the prompt says how they end."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = seconds
        self.gate: threading.Event | None = None
        """Pictures are not done before it is set."""
        self.links = False
        self.film = b""
        self.now = self.peak = 0
        self.videos: dict[str, dict[str, Any]] = {}

    def name_of(self, seen: Seen) -> str:
        if seen.path.startswith("/files/"):
            return "file"
        if seen.path.endswith("/images/generations"):
            return "create"
        if seen.path.endswith("/models"):
            return "models"
        if seen.path.endswith("/content"):
            return "content"
        return {"POST": "create", "GET": "get", "DELETE": "delete"}[seen.method]

    def answer(self, seen: Seen) -> Answer:
        name = self.name_of(seen)
        if name == "file":
            return Answer(200, PICTURE)
        if seen.headers.get("authorization") != f"Bearer {KEY}":
            return _error(401, "invalid_api_key", f"Incorrect API key provided: {KEY}")
        if name == "models":
            return Answer(200, {"object": "list", "data": [{"id": "gpt-image-1"}]})
        if "/videos" in seen.path:
            with self.lock:
                return self._video(name, seen)
        return self._pictures(seen.json)

    def _pictures(self, body: dict[str, Any]) -> Answer:
        prompt = body["prompt"]
        if prompt.startswith("nsfw"):
            return _error(400, "moderation_blocked", "Your request was rejected by safety.")
        if prompt.startswith("odd"):
            return _error(400, "invalid_value", "Invalid size.")
        with self.lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
        if self.gate is not None:
            self.gate.wait(30)
        time.sleep(self.seconds)
        with self.lock:
            self.now -= 1
        coded = {"b64_json": base64.b64encode(PICTURE).decode()}
        link = {"url": f"{self.url}/files/{secrets.token_hex(4)}.png"}
        made = [link if self.links else coded for _ in range(body.get("n", 1))]
        return Answer(200, {"created": 1, "data": made, "usage": {"total_tokens": 1}})

    def _video(self, name: str, seen: Seen) -> Answer:
        if name == "create":
            fields = _fields(seen)
            name = f"video_{secrets.token_hex(6)}"
            made: dict[str, Any] = {"id": name, "begun": time.monotonic(), **fields}
            self.videos[made["id"]] = made
            return Answer(200, self._state(made))
        found = self.videos.get(seen.path.split("/videos/")[1].split("/")[0])
        if found is None:
            return _error(404, "not_found", "No such video.")
        if name == "delete":
            found["deleted"] = True
            return Answer(200, {"id": found["id"], "object": "video.deleted", "deleted": True})
        if name == "content":
            return Answer(200, self.film, {"Content-Type": "video/mp4"})
        if found.get("deleted"):
            return _error(404, "not_found", "No such video.")
        return Answer(200, self._state(found), {"openai-poll-after-ms": "1500"})

    def _state(self, one: dict[str, Any]) -> dict[str, Any]:
        state = {"id": one["id"], "object": "video", "progress": 0, "error": None}
        if time.monotonic() - one["begun"] < self.seconds:
            return state | {"status": "in_progress", "progress": 33.5}
        if one["prompt"].startswith("nsfw"):
            error = {"code": "moderation_blocked", "message": "Blocked by our moderation system."}
            return state | {"status": "failed", "error": error}
        return state | {"status": "completed", "progress": 100}


def _fields(seen: Seen) -> dict[str, str]:
    """Read multipart/form-data; JSON is what a real server refuses here."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + seen.body)
    assert message.is_multipart(), "videos are created by a form"
    found: dict[str, str] = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str):
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            found[name] = content.decode()
    return found


def _error(status: int, code: str, message: str) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Answer(status, {"error": error})
