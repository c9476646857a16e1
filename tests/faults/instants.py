"""Programs for real workers that die at an exact instant, or whose clock is wrong.

Each is the source of a process (``Service.python``) that becomes a worker like any other. They
change the test's process only, never the product.
"""

import datetime
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Final

INSTANTS: Final = ("claimed", "in the middle", "stored", "uncommitted", "committed")
"""When a worker may die: after its claim has committed (before slots are extended and the bell
is rung), while the model computes, after the files are stored, in the transaction of the success
after its last statement, and after that has committed (before slots are given back and the bell is
rung)."""


def dying_worker(instant: str) -> str:
    """Return the source of a worker that is killed at this instant of its first task."""
    return (
        "from tests.faults import instants\n"
        f"instants.die({instant!r})\n"
        "from django.core.management import call_command\n"
        "call_command('worker', 'default')\n"
    )


def die(instant: str) -> None:
    """Let this process be killed at the instant."""
    from tasks_app.core import claim, outcomes
    from tasks_app.core.stopping import Run

    match instant:
        case "claimed":
            _replace(claim, "_after", before=_killed)
        case "in the middle":
            _replace(Run, "report", before=_killed_when_half_done)
        case "stored":
            _replace(outcomes, "succeeded", before=_killed)
        case "uncommitted":
            _replace(outcomes, "_end", after=_killed)
        case "committed":
            _replace(outcomes, "_settled", before=_killed)
        case _:
            raise ValueError(instant)


def _replace(
    place: Any,
    name: str,
    before: Callable[..., None] | None = None,
    after: Callable[..., None] | None = None,
) -> None:
    original = getattr(place, name)

    def replacement(*arguments: Any, **options: Any) -> Any:
        if before is not None:
            before(*arguments)
        result = original(*arguments, **options)
        if after is not None:
            after(*arguments)
        return result

    setattr(place, name, replacement)


def _killed(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killed_when_half_done(_: Any, fraction: float) -> None:
    if fraction >= 0.5:
        _killed()


def worker_with_clock(seconds: float) -> str:
    """Return the source of a worker whose clock is off by so many seconds.

    The whole program: unlike others it must begin before anything reads the clock.
    """
    return (
        "from tests.faults import instants\n"
        f"instants.shift({seconds!r})\n"
        "import django\n"
        "django.setup()\n"
        "from django.core.management import call_command\n"
        "call_command('worker', 'default')\n"
    )


def shift(seconds: float) -> None:
    """Change what this process takes for the time of day, as libfaketime does.

    ``time.monotonic`` stays: no clock that is set backwards moves it. Raises ``RuntimeError`` if
    somebody has read the clock's functions into names of their own before.
    """
    if "django" in sys.modules or "logging" in sys.modules:
        raise RuntimeError("too late to change the clock")
    true_time, true_ns = time.time, time.time_ns
    time.time = lambda: true_time() + seconds
    time.time_ns = lambda: true_ns() + int(seconds * 1e9)
    datetime.datetime = _shifted(datetime.datetime, datetime.timedelta(seconds=seconds))  # type: ignore[misc]


def _shifted(true: Any, by: datetime.timedelta) -> Any:
    class Meta(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, true)

        def __subclasscheck__(cls, one: type) -> bool:
            return issubclass(one, true)

    class Shifted(true, metaclass=Meta):  # type: ignore[misc]
        """Makes true datetimes, from a wrong clock."""

        def __new__(cls, *arguments: Any, **options: Any) -> Any:
            return true(*arguments, **options)

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return true.now(tz) + by

        @classmethod
        def utcnow(cls) -> Any:
            return true.now(datetime.UTC).replace(tzinfo=None) + by

        @classmethod
        def today(cls) -> Any:
            return true.now() + by

    for name in ("fromisoformat", "fromtimestamp", "strptime", "combine", "fromordinal"):
        setattr(Shifted, name, getattr(true, name))
    Shifted.__name__ = Shifted.__qualname__ = "datetime"
    return Shifted
