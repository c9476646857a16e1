"""What the core refuses, with stable codes. One handler (``api.problems``) turns it into HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field. ``pointer`` is a JSON Pointer (RFC 6901) into the body."""

    pointer: str
    detail: str
    code: str


@dataclass(frozen=True, slots=True)
class LimitState:
    """A limit: its name and size, what is left, what is used, and seconds until it is eased.

    ``window`` is the length in seconds that the size is for; None: it counts what is open at the
    same time. ``resets_at`` is when there is more, where a clock decides that.
    """

    name: str
    limit: int
    remaining: int
    used: int
    reset: float
    window: float | None = None
    resets_at: datetime | None = None


class Refusal(Exception):
    """A request that is not carried out. Nothing has been changed or spent."""

    status = 400
    code = "bad_request"
    title = "Bad request"

    def __init__(self, detail: str = "", *, code: str | None = None) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        if code is not None:
            self.code = code


class BadRequest(Refusal):
    """The request cannot be understood."""


class NotFound(Refusal):
    """There is no such thing, or it is not yours: the answer is the same."""

    status = 404
    code = "not_found"
    title = "Not found"


class Gone(Refusal):
    """The thing was here and has been removed."""

    status = 410
    code = "result_expired"
    title = "The result is no longer stored"


class Invalid(Refusal):
    """The request was understood and names something that does not fit."""

    status = 422
    code = "invalid"
    title = "The request is not valid"

    def __init__(
        self, errors: Sequence[FieldError] = (), detail: str = "", *, code: str | None = None
    ) -> None:
        super().__init__(detail or _summary(errors), code=code)
        self.errors = tuple(errors)


class TooMany(Refusal):
    """A limit is reached. ``retry_after`` is in seconds; ``limits`` are all that hold."""

    status = 429
    code = "too_many_requests"
    title = "Too many requests"

    def __init__(
        self,
        detail: str,
        *,
        code: str,
        limit: LimitState,
        limits: Sequence[LimitState],
        retry_after: float,
    ) -> None:
        super().__init__(detail, code=code)
        self.limit = limit
        self.limits = tuple(limits)
        self.retry_after = retry_after


class Unavailable(Refusal):
    """Something that this needs is away at the moment."""

    status = 503
    code = "unavailable"
    title = "Service unavailable"
    retry_after: float = 5.0


@dataclass(slots=True)
class Problems:
    """Collects field errors, to report them all at once."""

    found: list[FieldError] = field(default_factory=list)

    def add(self, pointer: str, detail: str, code: str) -> None:
        """Note one error."""
        self.found.append(FieldError(pointer, detail, code))

    def raise_if_any(self) -> None:
        """Raise ``Invalid`` with everything that was noted."""
        if self.found:
            raise Invalid(self.found)


def _summary(errors: Sequence[FieldError]) -> str:
    if not errors:
        return ""
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{first.pointer or 'body'}: {first.detail}{more}"
