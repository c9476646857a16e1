"""What many flights write together: batches that form while one is being written."""

import asyncio
from collections.abc import Sequence

import pytest

from tasks_app.core.remote.together import Together


class Pages:
    """What is written, batch by batch; a batch ends once it may, and 13 cannot be written."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_end = asyncio.Event()
        self.together = Together(self._write)

    async def _write(self, items: Sequence[int]) -> None:
        self.batches.append(list(items))
        await self.may_end.wait()
        if 13 in items:
            raise ValueError(items)

    def put(self, *items: int) -> "list[asyncio.Task[None]]":
        return [asyncio.ensure_future(self.together.put(item)) for item in items]


def test_what_comes_while_one_is_written_is_written_together() -> None:
    async def run() -> list[list[int]]:
        pages = Pages()
        first = pages.put(1)
        while not pages.batches:
            await asyncio.sleep(0)
        others = pages.put(*range(14, 1_312))
        await asyncio.sleep(0)
        pages.may_end.set()
        await asyncio.gather(*first, *others)
        return pages.batches

    batches = asyncio.run(run())
    assert [len(batch) for batch in batches] == [1, 500, 500, 298]
    assert [item for batch in batches for item in batch] == [1, *range(14, 1_312)]


def test_what_fails_fails_for_those_of_its_batch() -> None:
    async def run() -> list[list[int]]:
        pages = Pages()
        pages.may_end.set()
        both = await asyncio.gather(*pages.put(13, 1), return_exceptions=True)
        assert [type(one) for one in both] == [ValueError, ValueError]
        await asyncio.gather(*pages.put(2))
        return pages.batches

    assert asyncio.run(run()) == [[13, 1], [2]]


def test_one_that_does_not_wait_any_more_stops_nobody() -> None:
    async def run() -> list[list[int]]:
        pages = Pages()
        gone, kept = pages.put(1, 2)
        await asyncio.sleep(0)
        gone.cancel()
        pages.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await gone
        await kept
        return pages.batches

    assert asyncio.run(run()) == [[1, 2]]
