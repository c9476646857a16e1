"""The ``comfyui`` generator: workflows of ComfyUI, on hardware of one's own.

Its quirks, and what its answers mean here, are in the README beside this file.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode

from tasks_app.generators import schemas
from tasks_app.generators.base import GenerationRequest, Schema
from tasks_app.generators.comfyui import workflow
from tasks_app.generators.errors import GeneratorError, InvalidSettings, NoAnswer
from tasks_app.generators.remote import (
    RUNNING,
    Job,
    Link,
    RemoteAdapter,
    Submitted,
    UpstreamAnswer,
)
from tasks_app.generators.upstream import (
    MAX_ANSWER,
    Reply,
    Upstream,
    clipped,
    judge,
    list_of,
    object_of,
    text_of,
)
from tasks_app.lifecycle import ErrorCode

_LIMIT: Final = 16 * MAX_ANSWER
"""Histories and queues repeat whole workflows."""
_LATEST: Final = "200"


class ComfyUIAdapter(RemoteAdapter):
    """Queues a workflow under the attempt's key, and asks for its history."""

    name: ClassVar[str] = "comfyui"
    needs_credential: ClassVar[bool] = False
    finds: ClassVar[bool] = True
    own_settings: ClassVar[frozenset[str]] = frozenset({"workflow", "inputs", "parameters", "kind"})
    settings_help: ClassVar[str] = (
        '"base_url", where the server is; "workflow", as ComfyUI exports it for its API; "inputs", '
        'where parameters go, such as {"prompt": "6.text", "seed": "3.seed"}. Optional: '
        '"parameters", a JSON Schema of the form; "kind", image or video.'
    )

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        super().check_settings(settings)
        schemas.check_own_schema(settings)
        if settings.get("kind", "image") not in ("image", "video"):
            raise InvalidSettings('"kind" must be image or video.')
        workflow.check(settings, set(self.parameter_schema(settings)["properties"]))

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the operator's schema, or a prompt and a seed."""
        if settings.get("parameters") is not None:
            return schemas.own_schema(settings)
        return schemas.form(["prompt"], prompt=schemas.prompt(), seed=schemas.seed())

    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Queue the workflow."""
        made = workflow.filled(request.settings, request.params, request.key)
        body = {"prompt": made, "client_id": request.key, "prompt_id": request.key}
        reply = await upstream.call("POST", "/prompt", json=body)
        if reply.status == 400:
            raise GeneratorError(ErrorCode.INVALID_PARAMS, _complaint(reply))
        judge(reply)
        upstream_id = text_of(reply.json().get("prompt_id"))
        if not upstream_id:
            raise NoAnswer("The server took the workflow and did not name it.")
        return Submitted(upstream_id)

    async def find(self, upstream: Upstream, job: Job) -> Submitted | None:
        """Look for the attempt's key in the queue, then in the history, then in the queue again.

        Older versions name the job themselves; the client's id is the key in any case.
        """
        for _ in range(2):
            for _, upstream_id, client_id in _queued(await self._queue(upstream)):
                if job.key in (upstream_id, client_id):
                    return Submitted(upstream_id)
            reply = await upstream.call(
                "GET", "/history", query={"max_items": _LATEST}, limit=_LIMIT
            )
            judge(reply)
            for upstream_id, entry in reply.json().items():
                _, _, client_id = _entry(list_of(object_of(entry).get("prompt")))
                if job.key in (upstream_id, client_id):
                    return Submitted(upstream_id)
        return None

    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Ask for the history, which is empty until the end, and then for the queue."""
        for last in (False, True):
            reply = await upstream.call("GET", f"/history/{_quoted(job)}", limit=_LIMIT)
            judge(reply)
            entry = object_of(reply.json().get(job.upstream_id))
            if entry:
                return _answer(entry)
            if not last and any(
                upstream_id == job.upstream_id
                for _, upstream_id, _ in _queued(await self._queue(upstream))
            ):
                return RUNNING
        detail = "The server does not know the workflow any more: it was started anew."
        raise GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Take it out of the queue, or interrupt it if it is what runs: never anybody else's."""
        reply = await upstream.call("POST", "/queue", json={"delete": [job.upstream_id]})
        judge(reply)
        running = list_of((await self._queue(upstream)).get("queue_running"))
        if any(_entry(list_of(one))[1] == job.upstream_id for one in running):
            reply = await upstream.call("POST", "/interrupt", json={"prompt_id": job.upstream_id})
            judge(reply)

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """Ask what the server is."""
        reply = await upstream.call("GET", "/system_stats")
        judge(reply)
        version = clipped(object_of(reply.json().get("system")).get("comfyui_version"))
        return f"ComfyUI {version or 'of an unknown version'} answers."

    async def _queue(self, upstream: Upstream) -> Mapping[str, Any]:
        reply = await upstream.call("GET", "/queue", limit=_LIMIT)
        judge(reply)
        return reply.json()


def _quoted(job: Job) -> str:
    return quote(job.upstream_id, safe="")


def _queued(queue: Mapping[str, Any]) -> Iterator[tuple[float, str, str]]:
    for name in ("queue_running", "queue_pending"):
        for one in list_of(queue.get(name)):
            yield _entry(list_of(one))


def _entry(entry: list[Any]) -> tuple[float, str, str]:
    """Read (number, id, workflow, extra data, outputs) as number, id and the client's id."""
    number = entry[0] if entry and isinstance(entry[0], int | float) else 0
    upstream_id = text_of(entry[1]) if len(entry) > 1 else ""
    extra = object_of(entry[3]) if len(entry) > 3 else {}
    return float(number), upstream_id, text_of(extra.get("client_id"))


def _answer(entry: Mapping[str, Any]) -> UpstreamAnswer:
    status = object_of(entry.get("status"))
    word = text_of(status.get("status_str"))
    if word == "error":
        return UpstreamAnswer(True, error=_failure(status), status=word)
    links = tuple(_links(object_of(entry.get("outputs"))))
    nothing = GeneratorError(ErrorCode.RESULT_UNUSABLE, "The workflow saved no file.")
    return UpstreamAnswer(True, links=links, error=None if links else nothing, status=word)


def _links(outputs: Mapping[str, Any]) -> Iterator[Link]:
    """Yield what nodes saved; previews (type temp) are no results."""
    for saved in outputs.values():
        for files in object_of(saved).values():
            for file in map(object_of, list_of(files)):
                name = text_of(file.get("filename"))
                if name and file.get("type", "output") == "output":
                    where = text_of(file.get("subfolder"))
                    query = {"filename": name, "subfolder": where, "type": "output"}
                    yield Link(f"/view?{urlencode(query)}", own=True)


def _failure(status: Mapping[str, Any]) -> GeneratorError:
    """Return what went wrong: the messages are pairs of a word and an object."""
    for message in list_of(status.get("messages")):
        word, about = ([*list_of(message), "", {}])[:2]
        if word == "execution_interrupted":
            detail = "The workflow was interrupted at the server."
            return GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
        if word == "execution_error":
            said = clipped(object_of(about).get("exception_message"))
            return GeneratorError(ErrorCode.UPSTREAM_ERROR, said or "A node of it failed.")
    return GeneratorError(ErrorCode.UPSTREAM_ERROR, "The workflow failed.")


def _complaint(reply: Reply) -> str:
    """Return what the server has against the workflow, of a node if it names one."""
    try:
        body = reply.json()
    except NoAnswer:
        return "The server refused the workflow."
    for node in object_of(body.get("node_errors")).values():
        for error in map(object_of, list_of(object_of(node).get("errors"))):
            text = f"{clipped(error.get('message'))}: {clipped(error.get('details'))}"
            return clipped(text)
    said = clipped(object_of(body.get("error")).get("message"))
    return said or "The server refused the workflow."
