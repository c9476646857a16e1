"""The ``comfyui`` generator: workflows of ComfyUI, on hardware of one's own.

Its quirks, and what its answers mean here, are in the README beside this file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode

from tasks_app.generators import schemas
from tasks_app.generators.base import GenerationRequest, Schema
from tasks_app.generators.comfyui import workflow
from tasks_app.generators.errors import GeneratorError, InvalidSettings, NoAnswer
from tasks_app.generators.phrases import Phrase
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
_PATH: Final = re.compile(
    r"(?:(?<![\w.:/\\])(?:[A-Za-z]:[/\\]|[/\\])|(?<=:)/(?!/)|(?<=file:)//)[^\s'\",;]+"
)
"""Where files lie on the server, which is nobody else's business."""
_INTERRUPTS_BY_NAME: Final = (0, 3, 57)
"""The first version that looks whom an interrupt names: before it, whatever ran was stopped."""


class ComfyUIAdapter(RemoteAdapter):
    """Queues a workflow under the attempt's key, and asks for its history."""

    name: ClassVar[str] = "comfyui"
    needs_credential: ClassVar[bool] = False
    finds: ClassVar[bool] = True
    own_settings: ClassVar[frozenset[str]] = frozenset({"workflow", "inputs", "parameters", "kind"})
    settings_help: ClassVar[str] = (
        '"base_url", where the server is; "workflow", as ComfyUI exports it for its API, or its '
        'text; "inputs", where parameters go, such as {"prompt": "6.text", "seed": "3.seed"}. '
        'Optional: "parameters", a JSON Schema of the form; "kind", image or video.'
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
            raise _complaint(_said(reply), request.settings)
        judge(reply)
        said = reply.json()
        upstream_id = text_of(said.get("prompt_id"))
        if not upstream_id:
            raise NoAnswer("The server took the workflow and did not name it.")
        if object_of(said.get("node_errors")):
            await self._take_back(upstream, request, upstream_id)
            raise _complaint(said, request.settings)
        return Submitted(upstream_id)

    async def _take_back(
        self, upstream: Upstream, request: GenerationRequest, upstream_id: str
    ) -> None:
        """Cancel what runs without the outputs that did not fit: it would be a part of the result.

        Raises ``NoAnswer`` when that does not work: the job is there, and will be found.
        """
        job = Job(upstream_id, request.key, request.params, request.settings)
        try:
            await self.cancel(upstream, job)
        except GeneratorError as error:
            raise NoAnswer("The server took a part of the workflow.") from error

    async def find(self, upstream: Upstream, job: Job) -> Submitted | None:
        """Look for the attempt's key in the queue, then in the history, then in both again.

        Older versions name the job themselves; the client's id is the key in any case.
        """
        for _ in range(2):
            for upstream_id, client_id in _queued(await self._queue(upstream)):
                if job.key in (upstream_id, client_id):
                    return Submitted(upstream_id)
            reply = await upstream.call(
                "GET", "/history", query={"max_items": _LATEST}, limit=_LIMIT
            )
            judge(reply)
            for upstream_id, entry in reply.json().items():
                _, client_id = _entry(list_of(object_of(entry).get("prompt")))
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
                return _answer(entry, workflow.seed(job.settings, job.params, job.key))
            if not last and any(
                upstream_id == job.upstream_id
                for upstream_id, _ in _queued(await self._queue(upstream))
            ):
                return RUNNING
        detail = "The server does not know the workflow any more: started anew, or emptied."
        raise GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Take it out of the queue, or interrupt it if it is what runs: never anybody else's.

        Servers that do not look whom an interrupt names go on with it to its end.
        """
        reply = await upstream.call("POST", "/queue", json={"delete": [job.upstream_id]})
        judge(reply)
        running = list_of((await self._queue(upstream)).get("queue_running"))
        if not any(_entry(list_of(one))[0] == job.upstream_id for one in running):
            return
        if _version(await self._system(upstream)) >= _INTERRUPTS_BY_NAME:
            reply = await upstream.call("POST", "/interrupt", json={"prompt_id": job.upstream_id})
            judge(reply)

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """Ask what the server is."""
        system = await self._system(upstream)
        version = clipped(system.get("comfyui_version"))
        seen = [Phrase("ComfyUI %(version)s answers.", version=version or "?")]
        if _version(system) < _INTERRUPTS_BY_NAME:
            seen.append(Phrase("What runs is never stopped: that needs version 0.3.57."))
        if "--disable-metadata" not in list_of(system.get("argv")):
            seen.append(
                Phrase(
                    "Its files tell callers the whole workflow unless it is started with "
                    "--disable-metadata."
                )
            )
        return Phrase.of(*seen)

    async def _system(self, upstream: Upstream) -> Mapping[str, Any]:
        reply = await upstream.call("GET", "/system_stats")
        judge(reply)
        return object_of(reply.json().get("system"))

    async def _queue(self, upstream: Upstream) -> Mapping[str, Any]:
        reply = await upstream.call("GET", "/queue", limit=_LIMIT)
        judge(reply)
        return reply.json()


def _version(system: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the version as numbers; () where it is not told."""
    found = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", text_of(system.get("comfyui_version")))
    return tuple(int(one) for one in found.groups()) if found else ()


def _quoted(job: Job) -> str:
    return quote(job.upstream_id, safe="")


def _queued(queue: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("queue_running", "queue_pending"):
        for one in list_of(queue.get(name)):
            yield _entry(list_of(one))


def _entry(entry: list[Any]) -> tuple[str, str]:
    """Read (number, id, workflow, extra data, outputs) as id and the client's id."""
    upstream_id = text_of(entry[1]) if len(entry) > 1 else ""
    extra = object_of(entry[3]) if len(entry) > 3 else {}
    return upstream_id, text_of(extra.get("client_id"))


def _answer(entry: Mapping[str, Any], seed: int | None) -> UpstreamAnswer:
    status = object_of(entry.get("status"))
    word = text_of(status.get("status_str"))
    if word == "error":
        return UpstreamAnswer(True, error=_failure(status), status=word)
    links = tuple(_links(object_of(entry.get("outputs")), seed))
    nothing = GeneratorError(ErrorCode.RESULT_UNUSABLE, "The workflow saved no file.")
    return UpstreamAnswer(True, links=links, error=None if links else nothing, status=word)


def _links(outputs: Mapping[str, Any], seed: int | None) -> Iterator[Link]:
    """Yield what nodes saved; previews (type temp) are no results."""
    for saved in outputs.values():
        for files in object_of(saved).values():
            for file in map(object_of, list_of(files)):
                name = text_of(file.get("filename"))
                if name and file.get("type", "output") == "output":
                    where = text_of(file.get("subfolder"))
                    query = {"filename": name, "subfolder": where, "type": "output"}
                    yield Link(f"/view?{urlencode(query)}", own=True, seed=seed)


def _failure(status: Mapping[str, Any]) -> GeneratorError:
    """Return what went wrong: the messages are pairs of a word and an object."""
    for message in list_of(status.get("messages")):
        word, about = ([*list_of(message), "", {}])[:2]
        if word == "execution_interrupted":
            detail = "The workflow was interrupted at the server."
            return GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
        if word == "execution_error":
            said = _shown(object_of(about).get("exception_message"))
            return GeneratorError(ErrorCode.UPSTREAM_ERROR, said or "A node of it failed.")
    return GeneratorError(ErrorCode.UPSTREAM_ERROR, "The workflow failed.")


def _said(reply: Reply) -> Mapping[str, Any]:
    try:
        return reply.json()
    except NoAnswer:
        return {}


def _complaint(said: Mapping[str, Any], settings: Mapping[str, Any]) -> GeneratorError:
    """Return what the server has against the workflow.

    What parameters set is the caller's to put right; anything else, such as a model that is not
    there, is the operator's, who is told the place but not what the server has instead.
    """
    place = ""
    for node, name, error in _errors(object_of(said.get("node_errors"))):
        message = clipped(error.get("message"))
        if workflow.is_callers(settings, node, name):
            detail = _shown(f"{message}: {clipped(error.get('details'))}")
            return GeneratorError(ErrorCode.INVALID_PARAMS, detail)
        place = place or f"node {node}{name and ', '}{name}: {message}"
    about = place or _shown(object_of(said.get("error")).get("message"))
    refused = "The server does not take the workflow"
    return GeneratorError(ErrorCode.UPSTREAM_REJECTED, f"{refused}: {about}" if about else refused)


def _errors(nodes: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield node, input and error of everything that the server has against nodes."""
    for node, about in nodes.items():
        for error in map(object_of, list_of(object_of(about).get("errors"))):
            yield node, text_of(object_of(error.get("extra_info")).get("input_name")), error


def _shown(text: object) -> str:
    """Return what the server said as one short line, without the places of its files."""
    return _PATH.sub("…", clipped(text))
