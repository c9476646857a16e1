"""The ``dashscope`` generator: pictures and videos of Alibaba Cloud's Model Studio.

Its quirks, and what its answers mean here, are in the README beside this file.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote

from tasks_app.generators import schemas
from tasks_app.generators.base import GenerationRequest, Schema
from tasks_app.generators.errors import Busy, GeneratorError, InvalidSettings, NoAnswer
from tasks_app.generators.phrases import Phrase
from tasks_app.generators.remote import (
    Job,
    Link,
    RemoteAdapter,
    Submitted,
    UpstreamAnswer,
    check_text,
)
from tasks_app.generators.upstream import (
    Reply,
    Upstream,
    clipped,
    judge,
    list_of,
    object_of,
    text_of,
)
from tasks_app.lifecycle import ErrorCode

_PATHS: Final[Mapping[str, str]] = {
    "image": "/api/v1/services/aigc/text2image/image-synthesis",
    "video": "/api/v1/services/aigc/video-generation/video-synthesis",
}
_RUNNING: Final = frozenset({"PENDING", "RUNNING"})
_MODERATED: Final = ("DataInspection", "data_inspection", "IPInfringement")
_INPUT: Final = frozenset({"prompt", "negative_prompt"})
_UNPAID: Final = frozenset({"Arrearage", "AllocationQuota.FreeTierOnly"})


class DashScopeAdapter(RemoteAdapter):
    """Creates asynchronous tasks and asks about them."""

    name: ClassVar[str] = "dashscope"
    default_url: ClassVar[str] = "https://dashscope.aliyuncs.com"
    own_settings: ClassVar[frozenset[str]] = frozenset(
        {"model", "kind", "path", "parameters", "input"}
    )
    settings_help: ClassVar[str] = (
        '"model", such as "wan2.2-t2i-flash"; "kind", image or video. Optional: "parameters", a '
        'JSON Schema of the form; "input", parameters that are always sent; "path", where other '
        "models are created."
    )

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        super().check_settings(settings)
        check_text(settings, "model", needed=True)
        check_text(settings, "path")
        if settings.get("kind", "image") not in _PATHS:
            raise InvalidSettings('"kind" must be image or video.')
        if not isinstance(settings.get("input", {}), dict):
            raise InvalidSettings('"input" must be an object.')
        schemas.check_own_schema(settings)

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the operator's schema, or prompt, size and how many."""
        if settings.get("parameters") is not None:
            return schemas.own_schema(settings)
        if settings.get("kind", "image") == "video":
            return schemas.form(["prompt"], prompt=schemas.prompt(800), seed=schemas.seed())
        sizes = {one: one.replace("*", " × ") for one in ("1024*1024", "1280*720", "720*1280")}
        return schemas.form(
            ["prompt"],
            prompt=schemas.prompt(800),
            size=schemas.choice("Size", sizes),
            n=schemas.count(4),
            seed=schemas.seed(),
        )

    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Create a task."""
        settings = request.settings
        given = {name: value for name, value in request.params.items() if value is not None}
        asked = {name: value for name, value in given.items() if name in _INPUT}
        others = {name: value for name, value in given.items() if name not in _INPUT}
        body = {
            "model": settings["model"],
            "input": asked,
            "parameters": {**others, **settings.get("input", {})},
        }
        path = str(settings.get("path") or _PATHS[settings.get("kind", "image")])
        reply = await upstream.call(
            "POST", path, json=body, headers={"X-DashScope-Async": "enable"}
        )
        _judge(reply)
        upstream_id = text_of(object_of(reply.json().get("output")).get("task_id"))
        if not upstream_id:
            raise NoAnswer("The model service took the request and did not name the task.")
        return Submitted(upstream_id)

    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Get the task. UNKNOWN says that it is not there: as 404 elsewhere."""
        reply = await upstream.call("GET", _path(job))
        if reply.status != 404:
            _judge(reply)
        output = object_of(reply.json().get("output")) if reply.ok else {}
        status = text_of(output.get("task_status"))
        if status == "UNKNOWN" or not reply.ok:
            detail = "The model service does not know the task any more."
            raise GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
        if status in ("FAILED", "CANCELED"):
            return UpstreamAnswer(True, error=_failure(status, output), status=status)
        if status != "SUCCEEDED":
            said = "" if status in _RUNNING else f"unknown status {clipped(status)!r}"
            return UpstreamAnswer(False, status=said)
        return _result(output)

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Cancel the task; it listens only while it waits, so a refusal is fine."""
        reply = await upstream.call("POST", f"{_path(job)}/cancel")
        if reply.status not in (400, 404, 409):
            _judge(reply)

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """Ask about a task that is none."""
        reply = await upstream.call("GET", "/api/v1/tasks/00000000-0000-0000-0000-000000000000")
        if reply.status not in (400, 404):
            _judge(reply)
        return Phrase("It answers and accepts us.")


def _path(job: Job) -> str:
    return f"/api/v1/tasks/{quote(job.upstream_id, safe='')}"


def _judge(reply: Reply) -> None:
    """Raise what a refusal means; its codes say more than its statuses."""
    if reply.ok:
        return
    code, said = _told(reply)
    if code.startswith("Throttling"):
        judge(Reply(429, reply.headers))
    if code in _UNPAID:
        raise Busy(Phrase("The account at the model service is used up."), ours=True)
    if any(word in code for word in _MODERATED):
        raise GeneratorError(ErrorCode.CONTENT_REJECTED, said)
    if code.startswith("InvalidParameter"):
        raise GeneratorError(ErrorCode.INVALID_PARAMS, said)
    judge(reply, said)


def _told(reply: Reply) -> tuple[str, str]:
    try:
        body = reply.json()
    except NoAnswer:
        return "", ""
    return clipped(body.get("code")), clipped(body.get("message"))


def _failure(status: str, output: Mapping[str, Any]) -> GeneratorError:
    if status == "CANCELED":
        detail = "The task was canceled at the model service."
        return GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
    return _error(output.get("code"), output.get("message"))


def _error(code: object, said: object) -> GeneratorError:
    text = clipped(said) or "The model service failed."
    moderated = any(word in clipped(code) for word in _MODERATED)
    return GeneratorError(
        ErrorCode.CONTENT_REJECTED if moderated else ErrorCode.UPSTREAM_ERROR, text
    )


def _result(output: Mapping[str, Any]) -> UpstreamAnswer:
    """Return the files: one subtask that worked makes all of it SUCCEEDED, so they are counted."""
    results = [object_of(one) for one in list_of(output.get("results"))]
    found = [text_of(one.get("url")) for one in results] + [text_of(output.get("video_url"))]
    links = tuple(Link(url) for url in found if url)
    error = None
    if not links:
        bad = next((one for one in results if one.get("code")), {})
        error = _error(bad.get("code"), bad.get("message"))
        if not bad:
            error = GeneratorError(ErrorCode.RESULT_UNUSABLE, "The model returned no file.")
    return UpstreamAnswer(True, links=links, error=error, status="SUCCEEDED")
