"""Generators whose upstream is behind a network of its own: it may be cut, held and reset.

What ran is what the upstream saw, not what a worker says: ``Afar`` judges the submissions that
arrived, each as a call, by the rules that hold for local generators.
"""

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from tasks_app.models import Attempt, Task
from tests.faults.network import Proxy
from tests.faults.oracle import Call
from tests.faults.witness import Callers, Plant
from tests.processes import eventually
from tests.upstreams import fake
from tests.upstreams.fake import Answer
from tests.upstreams.replicate import TOKEN, Replicate

POOL: Final = "afar"
FAILING: Final = 4.0
"""Seconds of questions without an answer that end an attempt."""
ANSWER: Final = 1.0
"""Seconds that the upstream may take to accept work."""


def workers_of(plant: Plant) -> "list[subprocess.Popen[bytes]]":
    """Start the two workers that generators of this pool need; they end with the plant."""
    own = {
        "UPSTREAM_TOKEN": TOKEN,
        "DARKROOM_FETCH_ALLOW": "127.0.0.0/8",
        "DARKROOM_POLL_FAILING_SECONDS": str(FAILING),
    }
    return [plant.service.start("worker", name, **own) for name in (POOL, f"{POOL}-polls")]


class Afar(Callers):
    """The callers of one generator that works elsewhere, and the way there."""

    def __init__(
        self,
        plant: Plant,
        name: str,
        *,
        adapter: str = "replicate",
        upstream: fake.Fake | None = None,
        settings: Any = (),
        **fields: Any,
    ) -> None:
        self.upstream: Any = Replicate() if upstream is None else upstream
        self.way = Proxy(("127.0.0.1", self.upstream.port))
        own = {"version": "v1"} if adapter == "replicate" else {}
        told = {
            "base_url": f"http://127.0.0.1:{self.way.port}",
            "credential": "env:UPSTREAM_TOKEN",
            "answer_seconds": ANSWER,
            "poll_base": 0.1,
            "poll_cap": 1,
            **own,
            **dict(settings),
        }
        values = {"adapter": adapter, "pool": POOL, "settings": told, **fields}
        super().__init__(plant, name, at_once=4, **values)

    def close(self) -> None:
        """End the upstream and the way to it."""
        self.way.restore()
        self.way.close()
        self.upstream.stop()

    def errors(self) -> Counter[str]:
        """Return the errors of the tasks; "" for those without."""
        found = Task.objects.filter(generator=self.generator)
        return Counter(found.values_list("error_code", flat=True))

    def outcomes(self) -> Counter[str]:
        """Return how the attempts ended."""
        return Counter(self.attempts().values_list("outcome", flat=True))

    def attempts(self) -> Any:
        """Return the attempts."""
        return Attempt.objects.filter(task__generator=self.generator)

    def _params(self, key: str, seconds: float) -> dict[str, Any]:
        return {"prompt": key}

    def _is_quiet(self) -> bool:
        return not any(self._own_slots().values())

    def _calls(self) -> list[Call]:
        """Return what was submitted, each for as long as it is known to have run."""
        if not isinstance(self.upstream, Replicate):
            queued = self.upstream.of("POST prompt")
            texts = [(one.json["prompt"]["6"]["inputs"]["text"], one.at) for one in queued]
            return [Call(text, at, at) for text, at in texts]
        with self.upstream.lock:
            made = list(self.upstream.predictions.values())
        return [
            Call(one["input"]["prompt"], one["begun"], one["begun"] + one["seconds"])
            for one in made
        ]


@contextmanager
def several(plant: Plant, *names: str, **fields: Any) -> Iterator[list[Afar]]:
    """Return callers of as many generators, each with a network and an upstream of its own."""
    with ExitStack() as ending:
        made = []
        for name in names:
            one = Afar(plant, name, **fields)
            ending.callback(one.close)
            made.append(one)
        yield made


class Gate:
    """A fault: what was asked is done, and the answer waits until ``open``."""

    def __init__(self) -> None:
        self.done, self.opened = threading.Event(), threading.Event()

    def __call__(self, handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
        """Do it, say so here, and wait."""
        answer = do()
        self.done.set()
        self.opened.wait(20)
        fake.say(handler, answer)

    def wait(self) -> None:
        """Wait until it was done."""
        eventually(self.done.is_set, why="the upstream has done it")


BREAKS: Final[dict[str, Callable[[Proxy], None]]] = {
    "cut": Proxy.cut,
    "reset": Proxy.reset,
    "blackholed": Proxy.hold,
}
