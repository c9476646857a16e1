"""The one error type that adapters raise; it says what the execution layer should do next."""

import re
from typing import Final

from tasks_app.lifecycle import ErrorCode

MAX_DETAIL: Final = 500
"""Characters of a detail that are kept: it is stored and shown with the task."""
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


class GeneratorError(Exception):
    """A generation that did not work.

    ``code`` is one of the closed list in ``lifecycle.ErrorCode``; ``detail`` is shown to the
    task's owner, so it must hold no secret and no internal path; ``retryable`` says whether
    another attempt may help (the failure budget of the task decides whether there is one).

    Adapters are other people's code, so both are made fit to be stored: an unknown code is
    ``internal``, and a detail is clipped and freed of what a database refuses.
    """

    def __init__(self, code: ErrorCode, detail: str = "", *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {detail}" if detail else str(code))
        self.code = code if isinstance(code, ErrorCode) else _known(code)
        self.detail = _UNSTORABLE.sub("", str(detail)[:MAX_DETAIL])
        self.retryable = bool(retryable)


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
