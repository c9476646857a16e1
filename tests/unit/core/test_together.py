"""What many flights write together: batches that form while one is being written."""

import asyncio
from collections.abc import Sequence

import pytest

from tasks_app.core.remote.together import Together


def test_what_comes_while_one_is_written_is_written_together() -> None:
    batches: list[list[int]] = []

    async def run() -> list[int]:
        may_end = asyncio.Event()

        async def write(items: Sequence[int]) -> list[int]:
            batches.append(list(items))
            await may_end.wait()
            return [10 * item for item in items]

        together: Together[int, int] = Together(write)
        first = asyncio.ensure_future(together.put(1))
        while not batches:
            await asyncio.sleep(0)
        others = [asyncio.ensure_future(together.put(item)) for item in range(2, 1_300)]
        await asyncio.sleep(0)
        may_end.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(run()) == [10 * item for item in range(1, 1_300)]
    assert [len(batch) for batch in batches] == [1, 500, 500, 298]


def test_what_fails_fails_for_those_of_its_batch() -> None:
    async def write(items: Sequence[int]) -> list[int]:
        if 13 in items:
            raise ValueError(items)
        return list(items)

    async def run() -> int:
        together: Together[int, int] = Together(write)
        both = await asyncio.gather(together.put(13), together.put(1), return_exceptions=True)
        assert [type(one) for one in both] == [ValueError, ValueError]
        return await together.put(2)

    assert asyncio.run(run()) == 2


def test_one_that_does_not_wait_any_more_stops_nobody() -> None:
    async def run() -> int:
        may_end = asyncio.Event()

        async def write(items: Sequence[int]) -> list[int]:
            await may_end.wait()
            return list(items)

        together: Together[int, int] = Together(write)
        gone, kept = (asyncio.ensure_future(together.put(item)) for item in (1, 2))
        await asyncio.sleep(0)
        gone.cancel()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await kept

    assert asyncio.run(run()) == 2
