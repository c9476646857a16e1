"""Servers and whole services that a test may break, beside those of the run."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.acceptance.conftest import service as service
from tests.faults import report as results
from tests.faults.afar import workers_of
from tests.faults.servers import OwnServer, this_database
from tests.faults.witness import Plant, plant_in


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how a test ended, for `make faults`; of two processes their controller hears it, too."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.when == "call" or report.outcome != "passed":
        results.add({"test": report.nodeid.partition("::")[2], "outcome": report.outcome})


def _new_folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="darkroom-faults-"))
    made.chmod(0o711)
    return made


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that the servers can use, also for their sockets."""
    made = _new_folder()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def own_redis(folder: Path) -> Iterator[OwnServer]:
    """Return a Valkey that keeps nothing unless it is told to save."""
    made = OwnServer(folder / "valkey", database=False)
    yield made
    made.stop()


@pytest.fixture
def own_database(folder: Path, transactional_db: None) -> Iterator[OwnServer]:
    """Return a PostgreSQL, migrated, which is also this process' database during the test."""
    made = OwnServer(folder / "postgres", database=True)
    try:
        with this_database(made):
            yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def plant(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Plant]:
    """Return the plant that all scenarios of a module break, one after the other.

    Each scenario has a user and a generator of its own, so that nothing of an earlier one can
    weaken what is judged, and whatever an earlier one left broken is found by the next.
    """
    folder = _new_folder()
    database = OwnServer(folder / "postgres", database=True)
    redis = OwnServer(folder / "valkey", database=False)
    try:
        with (
            django_db_blocker.unblock(),
            this_database(database),
            plant_in(folder, database, redis) as made,
        ):
            yield made
    finally:
        redis.stop()
        database.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def _workers_of_upstreams(plant: Plant) -> "list[subprocess.Popen[bytes]]":
    return workers_of(plant)


@pytest.fixture
def afar(plant: Plant, _workers_of_upstreams: "list[subprocess.Popen[bytes]]") -> Iterator[Plant]:
    """Return the plant with workers for generators whose upstream is behind a network."""
    yield plant
    living = [one.poll() for one in _workers_of_upstreams]
    assert living == [None, None], "workers live through it"
