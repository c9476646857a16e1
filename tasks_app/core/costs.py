"""What a task is expected to cost, in seconds: learnt per generator and size.

Tasks of similar size share a row of ``Cost``: a running mean whose every sample is held within
a factor of four of what is known, so that one odd run moves it little. Where little is known the
generator's ``expected_seconds``, times the number of pictures, stands in, corrected by how this
generator compares with its first guess. One row is read at a submission, one or two are written
after an ending; nothing is scanned.

The size comes from validated parameters. Words that a generator does not heed would at worst
choose a wrong row: what a run really took is settled with its flow afterwards
(``fairness.settle``), so no choice of parameters buys a larger share.
"""

import math
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db import connection

from tasks_app.models import Cost, Generator, Task, new_id

MOST_SECONDS: Final = 86_400.0
"""Seconds that one task may count in the fair order."""
_LEAST_SECONDS: Final = 0.01
_MOST_COUNT: Final = 1_000
_MOST_SIZE: Final = 127
_PRIOR_SAMPLES: Final = 2
"""How many samples the first guess is worth."""
_MEMORY: Final = 32
"""Samples after which older ones fade."""
_STRAY: Final = 4.0
"""One sample counts as at most so many times, at least so little of, what is known."""
_RATIO: Final = -1
"""The size of the row that compares a generator with its first guess."""

_FACTORS: Final = (
    (("width",), 65_536),
    (("height",), 65_536),
    (("steps", "num_inference_steps"), 1_000),
    (("seconds", "duration"), 3_600),
    (("fps",), 240),
    (("frames", "num_frames"), 100_000),
)
"""Parameters by the names in use, one of each group, and the most that they may count."""


def count_of(params: Mapping[str, Any]) -> int:
    """Return how many pictures are asked for; an operator's schema need not bound it."""
    count = params.get("n", 1)
    if not isinstance(count, int) or isinstance(count, bool):
        return 1
    return min(max(count, 1), _MOST_COUNT)


def size_of(params: Mapping[str, Any]) -> int:
    """Return the size class of validated parameters, 0 to 127: two classes for each doubling.

    Pictures, megapixels, steps and the length of a film multiply.
    """
    doublings = math.log2(count_of(params))
    for names, most in _FACTORS:
        given = next((params[name] for name in names if name in params), None)
        if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
            doublings += math.log2(min(max(float(given), 1.0), most))
    return min(round(2 * doublings), _MOST_SIZE)


def expected(generator: Generator, params: Mapping[str, Any]) -> float:
    """Return the seconds that a task with these validated parameters is expected to take."""
    size = size_of(params)
    rows = Cost.objects.filter(generator_id=generator.pk, size__in=(_RATIO, size))
    known = {row.size: row for row in rows}
    guess = generator.expected_seconds * count_of(params)
    if _RATIO in known:
        guess *= known[_RATIO].seconds
    if size in known:
        samples = min(known[size].samples, _MEMORY)
        learnt = known[size].seconds * samples
        guess = (guess * _PRIOR_SAMPLES + learnt) / (_PRIOR_SAMPLES + samples)
    return _bounded(guess)


_LEARN: Final = """
INSERT INTO tasks_app_cost AS known (id, generator_id, size, seconds, samples)
VALUES (%(id)s, %(generator)s, %(size)s, %(seconds)s, 1)
ON CONFLICT (generator_id, size) DO UPDATE SET
    seconds = known.seconds + (
        LEAST(GREATEST(EXCLUDED.seconds, known.seconds / %(stray)s), known.seconds * %(stray)s)
        - known.seconds
    ) / LEAST(known.samples + 1, %(memory)s),
    samples = LEAST(known.samples + 1, 1000000)
"""


def learn(generator: Generator, task: Task, seconds: float) -> None:
    """Add one success to what is known; ``seconds`` is what it took.

    Outside of transactions: rows of costs are shared by all that finish.
    """
    if not math.isfinite(seconds):
        return
    took = _bounded(seconds)
    _add(generator.pk, size_of(task.params), took)
    guess = generator.expected_seconds * count_of(task.params)
    _add(generator.pk, _RATIO, min(max(took / guess, 1e-4), 1e4))


def _add(generator_id: UUID, size: int, seconds: float) -> None:
    values: dict[str, Any] = {
        "id": new_id(),
        "generator": generator_id,
        "size": size,
        "seconds": seconds,
        "stray": _STRAY,
        "memory": _MEMORY,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LEARN, values)


def _bounded(seconds: float) -> float:
    return min(max(seconds, _LEAST_SECONDS), MOST_SECONDS)
