"""The contract of remote adapters, and the settings that all of them have.

An upstream is asked over ``Upstream``, which knows the address, the credential and the limits.
Every method here is one exchange or very few, is called on an event loop and must not block.
Answers are read leniently: an unknown status counts as still running, a member of the wrong type
as absent. Whatever an upstream says is somebody else's text: short, and never with a credential.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from tasks_app.generators.base import Adapter, GenerationRequest, Output
from tasks_app.generators.errors import CannotTell, Forged, GeneratorError, InvalidSettings
from tasks_app.generators.phrases import Phrase
from tasks_app.generators.upstream import Upstream, judge


@dataclass(frozen=True, slots=True)
class Job:
    """What was submitted: its id upstream and the key, parameters and settings it was sent with.

    ``age``: seconds since its submission began. ``webhook_url``: where it may call back.
    ``stopping``: it was told to stop, and shall only be seen to have stopped.
    """

    upstream_id: str
    key: str
    params: Mapping[str, Any]
    settings: Mapping[str, Any]
    age: float = 0.0
    webhook_url: str | None = None
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    """An upstream accepted a submission under this id, and may be asked after so many seconds."""

    upstream_id: str
    poll_after: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Where a file of a result can be fetched.

    ``own``: a path of the upstream itself, fetched with its credential. Otherwise an address that
    the upstream named: fetched without it, and only from where the public internet is. ``seed``:
    what it was made with, if that is known, as of an ``Output``.
    """

    url: str
    own: bool = False
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class UpstreamAnswer:
    """What one poll or webhook said.

    Still running (``finished`` false), done (``finished`` with ``links`` or ``outputs``), or
    failed (``finished`` with ``error``). ``status`` is the upstream's own word, for logs.
    ``poll_after``: seconds that it wants to be left alone. ``upstream_id``: whose news it is, where
    the answer says so.
    """

    finished: bool
    progress: float | None = None
    outputs: tuple[Output, ...] = ()
    links: tuple[Link, ...] = ()
    error: GeneratorError | None = None
    poll_after: float | None = None
    status: str = ""
    upstream_id: str = ""


RUNNING: Final = UpstreamAnswer(finished=False)

COMMON_SETTINGS: Final = frozenset(
    {
        "base_url",
        "credential",
        "webhooks",
        "webhook_secret",
        "poll_base",
        "poll_cap",
        "poll_growth",
        "answer_seconds",
        "free_to_repeat",
    }
)
COMMON_HELP: Final = (
    'In addition: "base_url", the address of the upstream; "credential", where its key is: '
    '"env:UPSTREAM_…" or "file:/path", never the key itself; "webhooks": true lets it call back; '
    '"webhook_secret", where the key for that is; "poll_base" and "poll_cap", seconds between two '
    'questions, growing by "poll_growth" (double or fibonacci); "answer_seconds", how long it may '
    'take to accept work; "free_to_repeat": true if sending the same work twice costs nothing.'
)
GROWTHS: Final = ("double", "fibonacci")
_REFERENCE: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,99}|file:/[^\x00\n]{1,400}")


class RemoteAdapter(Adapter):
    """Submits to an upstream that answers later, or slowly."""

    remote: ClassVar[bool] = True

    own_settings: ClassVar[frozenset[str]] = frozenset()
    """The names of settings besides those of all remote adapters."""

    default_url: ClassVar[str] = ""
    """Where the upstream is unless the settings say otherwise; empty: they must."""

    needs_credential: ClassVar[bool] = True

    synchronous: ClassVar[bool] = False
    """Whether ``submit`` takes as long as the generation and returns its result."""

    polls: ClassVar[bool] = True
    """Whether ``poll`` can tell that a job is done. If not, only its webhook can."""

    takes_webhooks: ClassVar[bool] = False

    finds: ClassVar[bool] = False
    """Whether ``find`` can tell what became of a submission without an answer."""

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidSettings`` with a sentence about the first thing that is wrong."""
        check_common(self, settings)

    def authorize(self, secret: str) -> Mapping[str, str]:
        """Return the headers that show a credential."""
        return {"Authorization": f"Bearer {secret}"}

    @abstractmethod
    async def submit(
        self, upstream: Upstream, request: GenerationRequest, webhook_url: str | None
    ) -> Submitted | UpstreamAnswer:
        """Hand the work to the upstream, once.

        Raises ``errors.Busy`` and ``errors.Unsent`` when nothing was submitted, ``errors.NoAnswer``
        when that is not known, and other ``GeneratorError`` when it was refused.
        """

    @abstractmethod
    async def poll(self, upstream: Upstream, job: Job) -> UpstreamAnswer:
        """Ask once how the job is. Raises ``GeneratorError`` when that cannot be told now."""

    @abstractmethod
    async def cancel(self, upstream: Upstream, job: Job) -> None:
        """Ask the upstream to stop that one job, never any other. A job that is over is fine."""

    async def find(self, upstream: Upstream, job: Job) -> Submitted | None:
        """Say what became of the submission of ``job.key``; None: it never arrived.

        Raises ``errors.CannotTell`` where the upstream has no way to say.
        """
        raise CannotTell

    def verify(
        self, headers: Mapping[str, str], body: bytes, secret: str | None, now: float
    ) -> None:
        """Raise ``errors.Forged`` unless a webhook that came at Unix time ``now`` is genuine.

        The token in its address has been found to be an attempt's. Names of ``headers`` are in
        lower case; ``secret`` is what ``webhook_secret`` refers to.
        """
        raise Forged

    def read(self, body: bytes) -> UpstreamAnswer:
        """Return what a genuine webhook says. Raises ``GeneratorError`` when it is unreadable."""
        raise NotImplementedError

    async def check(self, upstream: Upstream, settings: Mapping[str, Any]) -> str:
        """Look whether the upstream is there and accepts us, at no cost; says what it saw.

        What is no ``Phrase`` is shown in English. Raises ``GeneratorError`` with what is wrong.
        """
        reply = await upstream.call("GET", "/")
        if reply.status in (401, 402, 403) or reply.status >= 500:
            judge(reply)
        return Phrase("It answers (HTTP %(status)d).", status=reply.status)


def check_common(adapter: RemoteAdapter, settings: Mapping[str, Any]) -> None:
    """Check the settings that all remote adapters have. Raises ``InvalidSettings``."""
    known = COMMON_SETTINGS | adapter.own_settings
    unknown = sorted(str(name) for name in set(settings) - known)
    if unknown:
        raise InvalidSettings(
            f"Unknown settings: {', '.join(unknown)}. Known are: {', '.join(sorted(known))}."
        )
    _check_address(base_url(adapter, settings))
    for name in ("credential", "webhook_secret"):
        _check_reference(name, settings.get(name))
    if adapter.needs_credential and settings.get("credential") is None:
        raise InvalidSettings('Set "credential" to where the key is: "env:UPSTREAM_…".')
    for name in ("webhooks", "free_to_repeat"):
        if not isinstance(settings.get(name, False), bool):
            raise InvalidSettings(f'"{name}" must be true or false.')
    if settings.get("webhooks") and not adapter.takes_webhooks:
        raise InvalidSettings(f"The adapter {adapter.name} takes no webhooks.")
    for name, (least, most) in _SECONDS.items():
        check_number(settings, name, least, most)
    if settings.get("poll_growth", "double") not in GROWTHS:
        raise InvalidSettings(f'"poll_growth" must be one of: {", ".join(GROWTHS)}.')


_SECONDS: Final[Mapping[str, tuple[float, float]]] = {
    "poll_base": (0.1, 3600),
    "poll_cap": (1, 3600),
    "answer_seconds": (1, 600),
}


def check_number(settings: Mapping[str, Any], name: str, least: float, most: float) -> None:
    """Raise ``InvalidSettings`` unless the setting is absent or a number within the bounds."""
    value = settings.get(name)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidSettings(f'"{name}" must be a number from {least:g} to {most:g}.')


def check_text(settings: Mapping[str, Any], name: str, *, needed: bool = False) -> None:
    """Raise ``InvalidSettings`` unless the setting is a text, or absent if it may be."""
    value = settings.get(name)
    if value is None and not needed:
        return
    if not isinstance(value, str) or not value.strip():
        raise InvalidSettings(f'Set "{name}" to a text.')


def base_url(adapter: RemoteAdapter, settings: Mapping[str, Any]) -> str:
    """Return the address of the upstream, without a slash at its end."""
    return str(settings.get("base_url") or adapter.default_url).rstrip("/")


def _check_address(url: str) -> None:
    if not url:
        raise InvalidSettings('Set "base_url" to the address of the upstream.')
    try:
        parts = urlsplit(url)
        port_fits = parts.port is None or parts.port > 0
    except ValueError as error:
        raise InvalidSettings('"base_url" is not an address.') from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_fits:
        raise InvalidSettings('"base_url" must begin with http:// or https:// and name a host.')
    if parts.username is not None or parts.password is not None:
        raise InvalidSettings('"base_url" must hold no user or password: use "credential".')
    if parts.query or parts.fragment:
        raise InvalidSettings('"base_url" must end with its path.')


def _check_reference(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        raise InvalidSettings(
            f'"{name}" must say where the secret is, "env:NAME" or "file:/path", not hold it.'
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """How often an upstream is asked: seconds of the first interval and the longest, and growth."""

    base: float
    cap: float
    growth: str = field(default="double")


_PACES: Final[Mapping[str, Pace]] = {"image": Pace(2.0, 15.0), "video": Pace(3.0, 30.0)}


def pace_of(adapter: RemoteAdapter, settings: Mapping[str, Any]) -> Pace:
    """Return how often a generator with these settings asks; by default as its kind does."""
    usual = _PACES.get(str(settings.get("kind", adapter.kind)), _PACES["image"])
    return Pace(
        float(settings.get("poll_base", usual.base)),
        float(settings.get("poll_cap", usual.cap)),
        str(settings.get("poll_growth", usual.growth)),
    )
