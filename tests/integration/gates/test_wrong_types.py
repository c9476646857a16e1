"""Keys of ours that somebody made something else of: they count as lost, and are made anew."""

import pytest
from redis.exceptions import ResponseError

from tasks_app import bells
from tasks_app.gates import keys, workers
from tasks_app.gates.connection import client


def test_bells_that_are_no_list_are_made_anew() -> None:
    client().set(bells.queue("default").key, "nonsense")
    assert bells.waiting("default") == 0
    assert bells.ring("default") == 1
    assert bells.waiting("default") == 1


def test_signs_of_life_that_are_no_set_are_made_anew() -> None:
    client().set(keys.workers("default"), "nonsense")
    with pytest.raises(ResponseError):
        workers.alive("default", "one", client())
    workers.alive("default", "one", client())  # as a worker says a few seconds later
    assert workers.count("default") == 1
