"""What OpenAI's images and videos, and the many servers that speak like them, have in common."""

from collections.abc import Mapping
from typing import Final

from tasks_app.generators.errors import Busy, GeneratorError, NoAnswer
from tasks_app.generators.phrases import Phrase
from tasks_app.generators.upstream import Reply, Upstream, clipped, judge, list_of, object_of
from tasks_app.lifecycle import ErrorCode

_MODERATED: Final = frozenset(
    {"moderation_blocked", "content_policy_violation", "content_filter", "sentinel_block"}
)
_UNPAID: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def judge_openai(reply: Reply) -> None:
    """Raise what a refusal means; a 2xx is fine. Adds OpenAI's codes to the common table."""
    if reply.ok:
        return
    error = error_of(reply)
    code = clipped(error.get("code")) or clipped(error.get("type"))
    if code in _MODERATED:
        raise GeneratorError(ErrorCode.CONTENT_REJECTED, clipped(error.get("message")))
    if code in _UNPAID:
        raise Busy(Phrase("The account at the model service is used up."), ours=True)
    judge(reply, clipped(error.get("message")))


def error_of(reply: Reply) -> Mapping[str, object]:
    """Return the error in an answer, or an empty one."""
    try:
        return object_of(reply.json().get("error"))
    except NoAnswer:
        return {}


def failure(error: Mapping[str, object]) -> GeneratorError:
    """Return what the error of a failed job means."""
    code, said = clipped(error.get("code")), clipped(error.get("message"))
    if code in _MODERATED:
        return GeneratorError(ErrorCode.CONTENT_REJECTED, said)
    return GeneratorError(ErrorCode.UPSTREAM_ERROR, said or "The model service failed.")


async def check_models(upstream: Upstream, model: str) -> str:
    """List the models, which costs nothing; says whether ours is among them."""
    reply = await upstream.call("GET", "/models", limit=8 * 1024 * 1024)
    judge_openai(reply)
    names = [object_of(one).get("id") for one in list_of(reply.json().get("data"))]
    if model in names:
        return Phrase("It accepts us and has %(model)s.", model=model)
    return Phrase(
        "It accepts us; %(model)s is not among the %(number)d models that it lists.",
        model=model,
        number=len(names),
    )
