"""What many flights want written, in few statements.

A statement of its own for each of hundreds of questions a second is most of what a process that
asks has to do. While one statement is under way, what comes meanwhile is collected for the next
one, as a database's group commit does: nobody waits for company, and under load there is some.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

_MOST: Final = 500
"""Items of one statement."""


class Together(Generic[Item]):
    """Writes items in batches; for one event loop."""

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: list[tuple[Item, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def put(self, item: Item) -> None:
        """Write an item, with others where there are some; raises what writing it raised."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.ensure_future(self._write_all())
        await future

    async def _write_all(self) -> None:
        while self._waiting:  # shrinks by one batch each time, and ends with the loop
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            failed: Exception | None = None
            try:
                await self._write([item for item, _ in batch])
            except Exception as error:
                failed = error
            for _, future in batch:
                if future.done():
                    continue
                if failed is None:
                    future.set_result(None)
                else:
                    future.set_exception(failed)
