"""The ``openai-videos`` generator: OpenAI's videos, and servers that speak like it.

Its quirks, and what its answers mean here, are in the README beside this file.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote

from tasks_app.generators import schemas
from tasks_app.generators.base import GenerationRequest, Schema
from tasks_app.generators.errors import GeneratorError, InvalidSettings, NoAnswer
from tasks_app.generators.openai import check_models, failure, judge_openai
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
    fraction,
    object_of,
    text_of,
)
from tasks_app.lifecycle import ErrorCode

_RUNNING: Final = frozenset({"queued", "in_progress"})
_SIZES: Final = ("1280x720", "720x1280")
_SECONDS: Final = ("4", "8", "12")


class OpenAIVideosAdapter(RemoteAdapter):
    """Creates videos and asks about them."""

    name: ClassVar[str] = "openai-videos"
    kind: ClassVar[str] = "video"
    default_url: ClassVar[str] = "https://api.openai.com/v1"
    own_settings: ClassVar[frozenset[str]] = frozenset({"model", "sizes", "lengths", "input"})
    settings_help: ClassVar[str] = (
        '"model", such as "sora-2". Optional: "sizes" and "lengths" (seconds, as texts), lists of '
        'what callers may choose; "input", fields that are always sent.'
    )

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        super().check_settings(settings)
        check_text(settings, "model", needed=True)
        for name in ("sizes", "lengths"):
            words = settings.get(name, ["x"])
            fits = isinstance(words, list) and 0 < len(words) <= 40
            if not fits or not all(isinstance(one, str) and 0 < len(one) <= 40 for one in words):
                raise InvalidSettings(f'"{name}" must be a list of texts.')
        own = settings.get("input", {})
        if not isinstance(own, dict) or not all(isinstance(one, str) for one in own.values()):
            raise InvalidSettings('"input" must be an object of texts: they are sent in a form.')

    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return prompt, size and length."""
        sizes = {one: one.replace("x", " × ") for one in settings.get("sizes", _SIZES)}
        lengths = {one: f"{one} s" for one in settings.get("lengths", _SECONDS)}
        return schemas.form(
            ["prompt"],
            prompt=schemas.prompt(32_000),
            size=schemas.choice("Size", sizes),
            seconds=schemas.choice("Length", lengths),
        )

    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Create a video: by a form, also without a file in it."""
        fields = {"model": request.settings["model"], **request.params}
        fields |= request.settings.get("input", {})
        texts = {name: str(value) for name, value in fields.items()}
        reply = await upstream.call("POST", "/videos", fields=texts)
        judge_openai(reply)
        upstream_id = text_of(reply.json().get("id"))
        if not upstream_id:
            raise NoAnswer("The model service took the request and did not name the video.")
        return Submitted(upstream_id, _hint(reply))

    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Get the video's state."""
        reply = await upstream.call("GET", _path(job))
        if reply.status == 404:
            detail = "The model service does not know the video any more."
            raise GeneratorError(ErrorCode.UPSTREAM_ERROR, detail)
        judge_openai(reply)
        video = reply.json()
        status = text_of(video.get("status"))
        if status == "failed":
            error = failure(object_of(video.get("error")))
            return UpstreamAnswer(True, error=error, status=status)
        if status == "completed":
            link = Link(f"{_path(job)}/content", own=True)
            return UpstreamAnswer(True, links=(link,), status=status)
        said = "" if status in _RUNNING else f"unknown status {clipped(status)!r}"
        progress = fraction(video.get("progress"), 100.0)
        return UpstreamAnswer(False, progress, poll_after=_hint(reply), status=said)

    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Delete the video; one that is gone is fine."""
        reply = await upstream.call("DELETE", _path(job))
        if reply.status not in (400, 404, 409):
            judge_openai(reply)

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """List the models, which costs nothing."""
        return await check_models(upstream, str(settings.get("model")))


def _path(job: Job) -> str:
    return f"/videos/{quote(job.upstream_id, safe='')}"


def _hint(reply: Reply) -> float | None:
    """Return the seconds that the upstream wants to be left alone."""
    try:
        return max(0.0, float(reply.headers.get("openai-poll-after-ms", "")) / 1000)
    except ValueError:
        return None
