"""A server that speaks ComfyUI's queue and history.

Answers have the shapes that ComfyUI 0.3.64 gave to a workflow of its own nodes.
"""

import secrets
from typing import Any

from tests.upstreams.fake import PICTURE, Answer, Fake, Seen

WORKFLOW: dict[str, Any] = {
    "3": {"class_type": "KSampler", "inputs": {"seed": 0, "model": ["4", 0]}},
    "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "x.safetensors"}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": "", "clip": ["4", 1]}},
    "9": {"class_type": "SaveImage", "inputs": {"filename_prefix": "a b/x", "images": ["3", 0]}},
}


class ComfyUI(Fake):
    """One workflow runs, the others wait, until ``finish`` is called."""

    def __init__(self) -> None:
        super().__init__()
        self.own_names = False
        """Whether it names workflows itself, as versions before 0.3.45 do."""
        self.version = "0.3.64"
        self.argv = ["main.py", "--cpu", "--disable-metadata"]
        self.saved: dict[str, int] = {}
        """The folder of results: how many files there are of each prefix."""
        self.cached: tuple[Any, list[dict[str, Any]]] | None = None
        """What the last workflow saved, for what it was asked."""
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
                    return self._interrupt(seen.json["prompt_id"])
                case "GET history":
                    return self._history(seen.path.removeprefix("/history").strip("/"))
                case "GET view":
                    return Answer(200, PICTURE)
                case "GET system_stats":
                    system = {"comfyui_version": self.version, "argv": self.argv}
                    return Answer(200, {"system": system, "devices": []})
        return Answer(404)

    def finish(self, word: str = "success", messages: Any = ()) -> None:
        """End what runs."""
        with self.lock:
            entry = self.queue.pop(0)
            told = [["execution_start", {"prompt_id": entry[1]}], *messages]
            preview = {"filename": "ComfyUI_temp_bjlod_00001_.png", "subfolder": "", "type": "temp"}
            outputs = {"9": {"images": self._save(entry[2])}, "8": {"images": [preview]}}
            self.history[entry[1]] = {
                "prompt": entry,
                "outputs": outputs if word == "success" else {},
                "status": {"status_str": word, "completed": word == "success", "messages": told},
                "meta": {"9": {"node_id": "9", "display_node": "9", "parent_node": None}},
            }

    def _save(self, made: dict[str, Any]) -> list[dict[str, Any]]:
        """Save two pictures, or name those of the last time if it was asked for the same."""
        if self.cached is None or self.cached[0] != made:
            prefix, files = made["9"]["inputs"]["filename_prefix"], []
            where, _, name = prefix.rpartition("/")
            for _ in range(2):
                self.saved[prefix] = self.saved.get(prefix, 0) + 1
                file = f"{name}_{self.saved[prefix]:05}_.png"
                files.append({"filename": file, "subfolder": where, "type": "output"})
            self.cached = made, files
        return self.cached[1]

    def _interrupt(self, name: str) -> Answer:
        """Stop what runs if it is named so; versions before 0.3.57 do not look."""
        if self.queue and (self.queue[0][1] == name or self.version < "0.3.57"):
            self.interrupted.append(self.queue[0][1])
            about = {"node_id": "3", "node_type": "KSampler", "executed": []}
            self.finish("error", [["execution_interrupted", about]])
        return Answer(200)

    def _prompt(self, body: dict[str, Any]) -> Answer:
        text = body["prompt"]["6"]["inputs"]["text"]
        if text in REFUSED:
            return Answer(400, REFUSED[text])
        name = secrets.token_hex(16) if self.own_names else body["prompt_id"]
        extra = {"client_id": body["client_id"]}
        self.queue.append([len(self.queue), name, body["prompt"], extra, ["9"]])
        errors = REFUSED["bad seed"]["node_errors"] if text == "a part" else {}
        return Answer(200, {"prompt_id": name, "number": len(self.queue), "node_errors": errors})

    def _history(self, name: str) -> Answer:
        if not name:
            return Answer(200, self.history)
        return Answer(200, {name: self.history[name]} if name in self.history else {})


def _refused(node: str, kind: str, message: str, details: str, name: str) -> dict[str, Any]:
    error = {
        "type": "prompt_outputs_failed_validation",
        "message": "Prompt outputs failed validation",
        "details": "",
        "extra_info": {},
    }
    extra = {"input_name": name, "input_config": ["INT", {"min": 0}], "received_value": -1}
    why = {"type": kind, "message": message, "details": details, "extra_info": extra}
    about = {"errors": [why], "dependent_outputs": ["9"], "class_type": "KSampler"}
    return {"error": error, "node_errors": {node: about}}


REFUSED: dict[str, dict[str, Any]] = {
    "bad seed": _refused(
        "3", "value_smaller_than_min", "Value -1 smaller than min of 0", "seed", "seed"
    ),
    "no model": _refused(
        "4",
        "value_not_in_list",
        "Value not in list",
        "ckpt_name: 'x.safetensors' not in ['secret.safetensors']",
        "ckpt_name",
    ),
    "no node": {
        "error": {
            "type": "invalid_prompt",
            "message": "Cannot execute because node KSampler does not exist.",
            "details": "Node ID '#3'",
            "extra_info": {},
        },
        "node_errors": {},
    },
}
"""What it has against workflows, by their prompts."""
