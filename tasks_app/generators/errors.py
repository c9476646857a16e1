"""The one error type that adapters raise; it says what the execution layer should do next."""

import re
from typing import Final

from tasks_app.generators.phrases import Phrase
from tasks_app.lifecycle import ErrorCode

MAX_DETAIL: Final = 500
"""Characters of a detail that are kept: it is stored and shown with the task."""
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NOT_CONNECTED: Final = Phrase("The model service could not be connected to.")
_NO_ANSWER: Final = Phrase("The model service did not answer.")


class GeneratorError(Exception):
    """A generation that did not work.

    ``code`` is one of the closed list in ``lifecycle.ErrorCode``; ``detail`` is shown to the
    task's owner, so it must hold no secret and no internal path; ``retryable`` says whether
    another attempt may help (the failure budget of the task decides whether there is one).

    Adapters are other people's code, so both are made fit to be stored: an unknown code is
    ``internal``, and a detail is clipped and freed of what a database refuses. ``phrase`` is the
    detail as it can be said in other languages, if it was given as a ``Phrase``.
    """

    def __init__(self, code: ErrorCode, detail: str = "", *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {detail}" if detail else str(code))
        self.code = code if isinstance(code, ErrorCode) else _known(code)
        self.detail = _UNSTORABLE.sub("", str(detail)[:MAX_DETAIL])
        self.phrase = detail if isinstance(detail, Phrase) else self.detail
        self.retryable = bool(retryable)


class Busy(GeneratorError):
    """The upstream takes nothing at the moment, so nothing was submitted and nothing is spent.

    ``retry_after``: seconds that the upstream asked for. ``ours``: it is not the upstream's load
    but something that the operator must put right, such as a credential that is not accepted.
    """

    def __init__(
        self, detail: str = "", *, retry_after: float | None = None, ours: bool = False
    ) -> None:
        super().__init__(ErrorCode.UPSTREAM_ERROR, detail, retryable=True)
        self.retry_after = retry_after
        self.ours = ours


class Unsent(GeneratorError):
    """Nothing reached the upstream: no connection, or it broke before the request was sent."""

    def __init__(self, detail: str = _NOT_CONNECTED) -> None:
        super().__init__(ErrorCode.UPSTREAM_UNREACHABLE, detail, retryable=True)


class NoAnswer(GeneratorError):
    """A request was sent, and no answer came that says what became of it."""

    def __init__(self, detail: str = _NO_ANSWER) -> None:
        super().__init__(ErrorCode.OUTCOME_UNKNOWN, detail)


class Unheard(GeneratorError):
    """The job is over upstream, and its last word, which only a webhook can bring, has not come.

    ``patience``: seconds in which it may still come.
    """

    def __init__(self, detail: str, patience: float) -> None:
        super().__init__(ErrorCode.OUTCOME_UNKNOWN, detail, retryable=True)
        self.patience = patience


class CannotTell(Exception):
    """The upstream has no way to say whether a submission reached it."""


class Forged(Exception):
    """A webhook that its upstream did not send, or that is too old to be believed."""


def _known(code: object) -> ErrorCode:
    try:
        return ErrorCode(str(code))
    except ValueError:
        return ErrorCode.INTERNAL


class InvalidSettings(Exception):
    """The ``settings`` of a generator row do not fit its adapter; the text says what to set."""


class Stopped(BaseException):
    """Raised by ``Context.report`` when the attempt must end now.

    It derives from ``BaseException`` so that the ``except Exception`` of model code cannot
    swallow it: a cancelled generation must let go of its slot.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
