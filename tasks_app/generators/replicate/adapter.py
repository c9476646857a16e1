"""The ``replicate`` generator: models at Replicate, and servers that speak its HTTP API.

Its quirks, and what its answers mean here, are in the README beside this file.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote

from tasks_app.generators import data_urls, schemas, standard_webhooks
from tasks_app.generators.base import GenerationRequest, Output, Schema
from tasks_app.generators.errors import GeneratorError, InvalidSettings, NoAnswer
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

_RUNNING: Final = frozenset({"starting", "processing"})
_FAILED: Final = frozenset({"failed", "canceled", "aborted"})
_MODERATED: Final = ("nsfw", "safety", "sensitive", "flagged")


class ReplicateAdapter(RemoteAdapter):
    """Creates predictions and asks about them, or is told by signed webhooks."""

    name: ClassVar[str] = "replicate"
    default_url: ClassVar[str] = "https://api.replicate.com"
    takes_webhooks: ClassVar[bool] = True
    own_settings: ClassVar[frozenset[str]] = frozenset(
        {"version", "model", "deployment", "parameters", "input", "kind"}
    )
    settings_help: ClassVar[str] = (
        'One of: "version", the id of a version; "model", owner/name of an official model; '
        '"deployment", owner/name. Optional: "parameters", a JSON Schema of the form; "input", '
        'values that are always sent; "kind", image or video.'
    )

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        super().check_settings(settings)
        named = [name for name in ("version", "model", "deployment") if settings.get(name)]
        if len(named) != 1:
            raise InvalidSettings('Set exactly one of "version", "model" and "deployment".')
        check_text(settings, named[0], needed=True)
        if named[0] != "version" and settings[named[0]].count("/") != 1:
            raise InvalidSettings(f'"{named[0]}" must be owner/name.')
        if not isinstance(settings.get("input", {}), dict):
            raise InvalidSettings('"input" must be an object.')
        if settings.get("kind", "image") not in ("image", "video"):
            raise InvalidSettings('"kind" must be image or video.')
        if settings.get("webhooks") and not settings.get("webhook_secret"):
            raise InvalidSettings('Webhooks need "webhook_secret": where the whsec_… is.')
        schemas.check_own_schema(settings)

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the operator's schema, or the usual one."""
        return schemas.own_schema(settings)

    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Create a prediction."""
        settings = request.settings
        given = {name: value for name, value in request.params.items() if value is not None}
        body: dict[str, Any] = {"input": {**given, **settings.get("input", {})}}
        if settings.get("version"):
            body["version"] = settings["version"]
        if webhook_url is not None:
            body |= {"webhook": webhook_url, "webhook_events_filter": ["completed"]}
        reply = await upstream.call("POST", _create_path(settings), json=body)
        judge(reply, _detail(reply))
        upstream_id = text_of(reply.json().get("id"))
        if not upstream_id:
            raise NoAnswer("The model service took the request and did not name the prediction.")
        return Submitted(upstream_id)

    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Get the prediction."""
        reply = await upstream.call("GET", _path(job), limit=16 * MAX_ANSWER)
        if reply.status == 404:
            detail = "The model service does not know the prediction any more."
            raise GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
        judge(reply, _detail(reply))
        return _answer(reply.json())

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Cancel the prediction. One that is over, or gone, is fine."""
        reply = await upstream.call("POST", f"{_path(job)}/cancel")
        if reply.status not in (404, 409, 422):
            judge(reply, _detail(reply))

    def verify(
        self, headers: Mapping[str, str], body: bytes, secret: str | None, now: float
    ) -> None:
        """Raise ``Forged`` unless Replicate signed it a moment ago."""
        standard_webhooks.verify(headers, body, secret, now)

    def read(self, body: bytes) -> UpstreamAnswer:
        """Return what a webhook says: it holds the prediction."""
        return _answer(Reply(200, {}, body).json())

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """Ask who we are; servers that only speak the API of predictions do not know."""
        reply = await upstream.call("GET", "/v1/account")
        if reply.status == 404:
            return Phrase("It answers, and does not say who we are.")
        judge(reply, _detail(reply))
        name = clipped(reply.json().get("username"))
        return Phrase("It accepts us as %(name)s.", name=name) if name else Phrase("It accepts us.")


def _create_path(settings: Mapping[str, Any]) -> str:
    for name, folder in (("model", "models"), ("deployment", "deployments")):
        if settings.get(name):
            return f"/v1/{folder}/{quote(settings[name])}/predictions"
    return "/v1/predictions"


def _path(job: Job) -> str:
    return f"/v1/predictions/{quote(job.upstream_id, safe='')}"


def _detail(reply: Reply) -> str:
    """Return what an error says; only where its text is about the request, not about us."""
    try:
        said = reply.json()
    except NoAnswer:
        return ""
    return clipped(said.get("detail")) or clipped(said.get("title"))


def _answer(prediction: Mapping[str, Any]) -> UpstreamAnswer:
    status, upstream_id = text_of(prediction.get("status")), text_of(prediction.get("id"))
    if status in _FAILED:
        error = _failure(status, clipped(prediction.get("error")))
        return UpstreamAnswer(True, error=error, status=status, upstream_id=upstream_id)
    if status != "succeeded":
        known = status in _RUNNING
        said = "" if known else f"unknown status {clipped(status)!r}"
        return UpstreamAnswer(False, status=said, upstream_id=upstream_id)
    outputs, links = _files(prediction.get("output"))
    nothing = GeneratorError(ErrorCode.RESULT_UNUSABLE, "The model returned no file.")
    return UpstreamAnswer(
        True,
        outputs=tuple(outputs),
        links=tuple(links),
        error=None if outputs or links else nothing,
        status=status,
        upstream_id=upstream_id,
    )


def _files(output: object) -> tuple[list[Output], list[Link]]:
    """Return the files of an output: one text, a list of texts, or an object of these."""
    found = [output] if isinstance(output, str) else list_of(output)
    if not found:
        found = [one for value in object_of(output).values() for one in _texts(value)]
    texts = [text for text in found if isinstance(text, str)]
    outputs = [data_urls.output_of(text) for text in texts if text.startswith("data:")]
    links = [Link(text) for text in texts if text.startswith(("https://", "http://"))]
    return outputs, links


def _texts(value: object) -> list[object]:
    return [value] if isinstance(value, str) else list_of(value)


def _failure(status: str, said: str) -> GeneratorError:
    if any(word in said.lower() for word in _MODERATED):
        return GeneratorError(ErrorCode.CONTENT_REJECTED, said)
    if status != "failed":
        detail = "The prediction was canceled at the model service."
        return GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
    return GeneratorError(ErrorCode.UPSTREAM_ERROR, said or "The model failed.")
