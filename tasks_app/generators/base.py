"""The contract between Darkroom and the code that makes pictures.

An adapter takes values and returns values. It imports neither Django nor Redis nor the
models, so that it can be tested, and reused, without a server. Two kinds exist:

* ``LocalAdapter`` computes here, inside a warm worker process, one generation at a time.
* ``RemoteAdapter`` (in ``remote.py``) submits to an upstream that is asked, or tells by webhook,
  how it went.

An adapter instance is made once per worker process and generator ("warm"), so models loaded
in ``warm_up`` stay loaded. It must not keep state of one task on itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

Schema = dict[str, Any]
"""A JSON Schema (draft 2020-12) object."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What to make: one attempt of one task.

    ``params`` has been validated against ``parameter_schema`` and holds every default.
    ``settings`` is the generator row's own configuration, already checked. ``key`` is a UUID that
    names this attempt to an upstream which lets its callers name their jobs.
    """

    task_id: str
    attempt: int
    params: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a generation made: encoded bytes and what they claim to be.

    ``media_type`` is an IANA type such as ``image/png``. The result store verifies the
    claim, measures width and height and makes the thumbnail; adapters do not.
    """

    content: bytes
    media_type: str
    seed: int | None = None


class Context(Protocol):
    """What a running local generation may ask of its worker."""

    def report(self, fraction: float) -> None:
        """Report progress, ``0.0`` to ``1.0``, and give the worker a chance to stop.

        Call it at every step, at least once a second where that is possible. Raises
        ``errors.Stopped`` (a ``BaseException``) when the task was canceled, its deadline has
        passed, the attempt was taken away or the worker is shutting down; let it fly.
        """


class Adapter(ABC):
    """What both kinds share."""

    name: ClassVar[str]
    """The stable word stored in generator rows."""

    kind: ClassVar[str] = "image"
    """``image`` or ``video``."""

    remote: ClassVar[bool]

    settings_help: ClassVar[str] = "It has no settings: leave them empty ({})."
    """What staff read beside the settings of a generator row, in plain sentences."""

    def check_settings(self, settings: Mapping[str, Any]) -> None:  # noqa: B027 - optional hook
        """Raise ``errors.InvalidSettings`` with a sentence if the row's settings do not fit."""

    @abstractmethod
    def parameter_schema(self, settings: Mapping[str, Any]) -> Schema:
        """Return the JSON Schema of ``params``.

        It validates the API and draws the form, so each property has ``title``, ``type``,
        bounds and a ``default`` unless it is in ``required``; ``additionalProperties`` is
        false. Form hints: ``"format": "textarea"`` for long text, ``"x-advanced": true`` for
        what is folded away, ``"x-enum-labels": {value: label}`` for choices, and
        ``"x-unit": "px"``.
        """


class LocalAdapter(Adapter):
    """Computes in the worker process."""

    remote: ClassVar[bool] = False

    def warm_up(self, settings: Mapping[str, Any]) -> None:
        """Load what every generation needs; called once before the first one."""

    @abstractmethod
    def generate(self, request: GenerationRequest, context: Context) -> Iterable[Output]:
        """Make the pictures, reporting progress; at least one output.

        Raises ``errors.GeneratorError`` for what went wrong in a known way. Any other
        exception counts as ``internal`` and is logged with its traceback. An iterator is
        consumed inside the worker, output by output, while the attempt is still running.
        """
