"""A server that speaks ComfyUI's queue and history, as ``wire-formats`` describes them."""

import secrets
from typing import Any

from tests.upstreams.fake import PICTURE, Answer, Fake, Seen

WORKFLOW: dict[str, Any] = {
    "3": {"class_type": "KSampler", "inputs": {"seed": 0, "model": ["4", 0]}},
    "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "x.safetensors"}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": "", "clip": ["4", 1]}},
    "9": {"class_type": "SaveImage", "inputs": {"filename_prefix": "x", "images": ["3", 0]}},
}


class ComfyUI(Fake):
    """One workflow runs, the others wait, until ``finish`` is called."""

    def __init__(self) -> None:
        super().__init__()
        self.own_names = False
        """Whether it names workflows itself, as older versions do."""
        self.queue: list[list[Any]] = []
        self.history: dict[str, Any] = {}
        self.interrupted: list[str] = []

    def name_of(self, seen: Seen) -> str:
        return f"{seen.method} {seen.path.split('/')[1]}"

    def answer(self, seen: Seen) -> Answer:
        with self.lock:
            match self.name_of(seen):
                case "POST prompt":
                    return self._prompt(seen.json)
                case "GET queue":
                    running, pending = self.queue[:1], self.queue[1:]
                    return Answer(200, {"queue_running": running, "queue_pending": pending})
                case "POST queue":
                    gone = seen.json["delete"]
                    self.queue[1:] = [one for one in self.queue[1:] if one[1] not in gone]
                    return Answer(200)
                case "POST interrupt":
                    self.interrupted.append(seen.json["prompt_id"])
                    self.finish("error", [["execution_interrupted", {"node_id": "3"}]])
                    return Answer(200)
                case "GET history":
                    return self._history(seen.path.removeprefix("/history").strip("/"))
                case "GET view":
                    return Answer(200, PICTURE)
                case "GET system_stats":
                    return Answer(200, {"system": {"comfyui_version": "0.3.60"}})
        return Answer(404)

    def finish(self, word: str = "success", messages: Any = ()) -> None:
        """End what runs."""
        with self.lock:
            entry = self.queue.pop(0)
            saved = {"filename": "x_1.png", "subfolder": "a b", "type": "output"}
            preview = {"filename": "p.png", "subfolder": "", "type": "temp"}
            outputs = {"9": {"images": [saved]}, "8": {"images": [preview]}}
            self.history[entry[1]] = {
                "prompt": entry,
                "outputs": outputs if word == "success" else {},
                "status": {"status_str": word, "completed": True, "messages": list(messages)},
            }

    def _prompt(self, body: dict[str, Any]) -> Answer:
        if body["prompt"]["6"]["inputs"]["text"].startswith("odd"):
            error = {
                "type": "prompt_outputs_failed_validation",
                "message": "Invalid",
                "details": "",
            }
            bad = [{"message": "Value not in list", "details": "ckpt_name: 'x'"}]
            return Answer(400, {"error": error, "node_errors": {"4": {"errors": bad}}})
        name = secrets.token_hex(16) if self.own_names else body["prompt_id"]
        extra = {"client_id": body["client_id"]}
        self.queue.append([len(self.queue), name, body["prompt"], extra, ["9"]])
        return Answer(200, {"prompt_id": name, "number": len(self.queue), "node_errors": {}})

    def _history(self, name: str) -> Answer:
        if not name:
            return Answer(200, self.history)
        return Answer(200, {name: self.history[name]} if name in self.history else {})
