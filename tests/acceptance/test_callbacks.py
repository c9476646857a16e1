"""Callbacks from a running service: the documents' receivers, and a deliverer that is killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest
from pytest_django import Settings

from tasks_app.core import callbacks, cancellation, submission
from tasks_app.core.submission import Wish
from tasks_app.models import Callback, CallbackSecret
from tests.conftest import make_generator, make_user
from tests.processes import ROOT, Service, eventually, free_port, kill_group
from tests.receivers import Connection, good, receiver

SAMPLES = ROOT / "docs" / "samples"
OPEN = {"DARKROOM_CALLBACK_ALLOW": "127.0.0.0/8"}
EVENTS = 120
KILLS = 4


def command(language: str) -> list[str]:
    """Return how a receiver is started. Without Node the test is skipped, but under CI it fails."""
    if language == "python":
        return [sys.executable, str(SAMPLES / "receiver.py")]
    node = shutil.which("node")
    if node is None:
        reason = "THE JAVASCRIPT RECEIVER IS NOT TESTED: no node, which must be 18 or newer"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return [node, str(SAMPLES / "receiver.mjs")]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_receivers_of_the_documents_verify_what_the_service_sends(
    service: Callable[..., Service],
    tmp_path: Path,
    settings: Settings,
    language: str,
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"callback_allow": _loopback()}
    started = command(language)
    user = make_user("alice")
    make_generator("paused", paused=True)
    darkroom = service(**OPEN)
    darkroom.workers(1, "callbacks")
    darkroom.ticker()
    port, output = free_port(), tmp_path / "receiver.log"
    url = f"http://127.0.0.1:{port}/hook"
    environment = os.environ | {"DARKROOM_CALLBACK_SECRET": callbacks.new_secret(user.pk)}
    with output.open("wb") as log:
        program = subprocess.Popen(
            [*started, str(port)], env=environment, stdout=log, start_new_session=True
        )
    try:
        told = callbacks.send_test(user.pk, url)
        # The first one may be there before the receiver is: a test is tried once.
        eventually(lambda: Callback.objects.get(pk=told).state != "pending")
        task = submission.submit(user, Wish("paused", {"prompt": "x"}, callback_url=url)).task_id
        cancellation.cancel(task, user.pk)
        eventually(lambda: f"task.failed {task}" in output.read_text(), why="it is told")
        # Signed with a secret that this receiver does not know (the old one has retired).
        callbacks.new_secret(user.pk)
        CallbackSecret.objects.filter(retires_at__isnull=False).delete()
        forged = callbacks.send_test(user.pk, url)
        eventually(lambda: Callback.objects.get(pk=forged).last_status == 400)
    finally:
        kill_group(program)


def test_callbacks_are_at_least_once_with_the_same_id_and_bytes(
    service: Callable[..., Service],
    settings: Settings,
) -> None:
    """The deliverer is killed at random moments; a supervisor starts it again."""
    settings.DARKROOM = settings.DARKROOM | {"callback_allow": _loopback()}
    user = make_user("alice")
    make_generator("paused", paused=True)
    darkroom = service(**OPEN)
    darkroom.ticker()
    darkroom.kept_workers(1, "callbacks")
    waits = threading.Event()

    def slowly(connection: Connection) -> None:
        waits.wait(0.02)  # so that kills meet attempts in progress
        good(connection)

    with receiver(slowly) as one:
        kills = 0
        for number in range(EVENTS):
            wish = Wish("paused", {"prompt": f"picture {number}"}, callback_url=one.url())
            cancellation.cancel(submission.submit(user, wish).task_id, user.pk)
            if number and number % (EVENTS // (KILLS + 1)) == 0:
                kills += _kill_one(darkroom)
        assert kills >= 1
        expected = {str(pk) for pk in Callback.objects.values_list("pk", flat=True)}
        eventually(lambda: set(one.ids()) == expected, within=60, why="all are received")
        eventually(lambda: not Callback.objects.exclude(state="delivered").exists(), within=60)
    bodies = Counter((got.headers["webhook-id"], got.body) for got in one.received)
    assert len(bodies) == len(expected) == EVENTS
    stored = {str(row.pk): bytes(row.body) for row in Callback.objects.all()}
    assert dict(list(bodies)) == stored
    twice = sum(1 for count in bodies.values() if count > 1)
    # Only what was in progress at a kill can come twice: four at a time in a lane.
    assert twice <= 4 * kills


def _kill_one(darkroom: Service) -> int:
    """Kill -9 a worker that lives and has begun; returns how many that were."""
    names = [name.decode() for name in darkroom._alive("callbacks")]
    pids = [int(name.split("-")[-2]) for name in names]
    random.shuffle(pids)
    for pid in pids:
        child = next((one for one in darkroom._children if one.pid == pid), None)
        if child is not None and child.poll() is None:
            os.killpg(pid, signal.SIGKILL)
            return 1
    return 0


def _loopback() -> tuple[object, ...]:
    return (ip_network("127.0.0.0/8"),)
