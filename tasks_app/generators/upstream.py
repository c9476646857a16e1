"""One HTTP exchange with an upstream, as adapters see it, and how its answer is judged.

The other side of this is ``core.remote.lines``: connections, timeouts, limits and credentials are
its business. An adapter says what to ask and reads what was answered.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Protocol

from tasks_app.generators.errors import Busy, GeneratorError, NoAnswer
from tasks_app.generators.phrases import Phrase
from tasks_app.lifecycle import ErrorCode

MAX_ANSWER: Final = 1024 * 1024
"""Bytes of an answer that are read unless the adapter asks for more."""
_DETAIL: Final = 300
_UNSHOWABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: the names of ``headers`` are in lower case, ``body`` is whole."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def ok(self) -> bool:
        """Whether it is a 2xx."""
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """Return the object in the body. Raises ``NoAnswer`` for anything else."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(
                Phrase("The model service answered with something unreadable.")
            ) from error
        if not isinstance(found, dict):
            raise NoAnswer(Phrase("The model service answered with something else than expected."))
        return found


class Upstream(Protocol):
    """The way to one generator's upstream."""

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        fields: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Reply:
        """Make one exchange; ``path`` follows the generator's ``base_url``.

        ``fields`` are sent as multipart/form-data, ``limit`` is in bytes. Redirects are answers.
        Raises ``errors.Unsent`` when nothing was sent, ``errors.NoAnswer`` when no answer came
        in time or it was larger than the limit.
        """


def judge(reply: Reply, detail: str = "") -> None:
    """Raise what a refusal means, by the table that all adapters share; a 2xx is fine.

    429, 503: ``Busy``. 401, 402, 403 and redirects: ``Busy`` by our own fault, which the operator
    can put right. 408, 502, 504 and 52x come from something in between, which does not know what
    became of the request: ``NoAnswer``. Other 5xx: an error that may pass. Other 4xx: refused.
    """
    status = reply.status
    if reply.ok:
        return
    if status in (429, 503):
        raise Busy(Phrase("The model service is busy."), retry_after=retry_after(reply))
    if status in (401, 402, 403) or 300 <= status < 400:
        detail = Phrase("The model service does not accept us (HTTP %(status)d).", status=status)
        raise Busy(detail, ours=True)
    if status in (408, 502, 504) or 520 <= status <= 524:
        lost = Phrase("Nobody knows what became of the request (HTTP %(status)d).", status=status)
        raise NoAnswer(lost)
    said = clipped(detail)
    if status >= 500 or status < 200:
        text = said or Phrase("The model service failed (HTTP %(status)d).", status=status)
        raise GeneratorError(ErrorCode.UPSTREAM_ERROR, text, retryable=True)
    text = said or Phrase("The model service refused the request (HTTP %(status)d).", status=status)
    raise GeneratorError(ErrorCode.UPSTREAM_REJECTED, text)


def retry_after(reply: Reply, now: datetime | None = None) -> float | None:
    """Return the seconds that an answer asks to wait, from seconds or a date; None: it does not.

    What makes no sense is not there. A date in the past and a negative number are 0.
    """
    given = reply.headers.get("retry-after", "").strip()
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = _until(given, now or datetime.now(UTC))
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(given: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(given)
    except (ValueError, TypeError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def clipped(text: object) -> str:
    """Return what an upstream said as one short line; "" for what is no text.

    Without what neither a table nor a page can hold, or what would steer a terminal.
    """
    if not isinstance(text, str):
        return ""
    line = " ".join(_UNSHOWABLE.sub(" ", text).split())
    return line if len(line) <= _DETAIL else line[: _DETAIL - 1] + "…"


def fraction(value: object, whole: float = 1.0) -> float | None:
    """Return a progress of ``whole`` as 0.0 to 1.0; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return min(1.0, max(0.0, value / whole)) if math.isfinite(value) else None
    except OverflowError:  # an integer beyond all floats
        return None


def text_of(value: object) -> str:
    """Return a text member of an answer, or "" for anything else."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Mapping[str, Any]:
    """Return an object member of an answer, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[Any]:
    """Return a list member of an answer, or an empty one for anything else."""
    return value if isinstance(value, list) else []
