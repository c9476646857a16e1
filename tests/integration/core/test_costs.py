"""What tasks are expected to take: learnt by size, robust, bounded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core import costs
from tasks_app.models import Cost, Generator, Task
from tests.conftest import make_generator

pytestmark = pytest.mark.django_db


def made(**params: Any) -> Task:
    return Task(params=params)


@pytest.fixture
def generator(db: None) -> Generator:
    return make_generator(expected_seconds=10.0)


def test_without_history_the_first_guess_stands_in(generator: Generator) -> None:
    assert costs.expected(generator, {"prompt": "x"}) == 10.0
    assert costs.expected(generator, {"n": 3}) == 30.0


def test_sizes_are_learnt_apart(generator: Generator) -> None:
    small, large = {"width": 512, "height": 512}, {"width": 1024, "height": 1024}
    for _ in range(30):
        costs.learn(generator, made(**small), 5.0)
        costs.learn(generator, made(**large), 20.0)
    assert costs.expected(generator, small) == pytest.approx(5, rel=0.2)
    assert costs.expected(generator, large) == pytest.approx(20, rel=0.2)
    assert 5 < costs.expected(generator, {"n": 1}) < 20, "an unknown size goes by all the others"


def test_one_odd_run_moves_little(generator: Generator) -> None:
    for _ in range(30):
        costs.learn(generator, made(), 10.0)
    costs.learn(generator, made(), 80_000.0)
    costs.learn(generator, made(), 0.0)
    assert costs.expected(generator, {}) == pytest.approx(10, rel=0.2)


def test_what_changes_for_good_is_followed(generator: Generator) -> None:
    for seconds in [10.0] * 100 + [30.0] * 100:
        costs.learn(generator, made(), seconds)
    assert costs.expected(generator, {}) == pytest.approx(30, rel=0.15)


def test_costs_are_bounded_whatever_is_learnt(generator: Generator) -> None:
    for seconds in (float("inf"), float("nan"), -5.0, 1e300):
        costs.learn(generator, made(n=1_000), seconds)
    assert 0 < costs.expected(generator, {"n": 10**30}) <= costs.MOST_SECONDS
    assert Cost.objects.count() == 2, "what is not finite teaches nothing"


numbers = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())
)


@given(
    st.dictionaries(
        st.sampled_from(["n", "width", "height", "steps", "seconds", "fps", "frames", "prompt"]),
        numbers,
    )
)
def test_any_parameters_have_a_size(params: dict[str, Any]) -> None:
    assert 0 <= costs.size_of(params) <= 127
    assert 1 <= costs.count_of(params) <= 1_000


@given(st.integers(1, 1_000), st.integers(1, 65_536), st.integers(1, 1_000))
def test_more_is_never_smaller(number: int, width: int, steps: int) -> None:
    size = costs.size_of({"n": number, "width": width, "steps": steps})
    assert size <= costs.size_of({"n": min(1_000, number + 1), "width": width, "steps": steps})
    assert size <= costs.size_of({"n": number, "width": 2 * width, "steps": steps})
