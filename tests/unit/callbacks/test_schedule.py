"""When callbacks are tried again, and how names are resolved for them."""

import asyncio
import threading
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.callbacks import resolving, schedule
from tasks_app.callbacks.networks import Address
from tasks_app.callbacks.resolving import Resolver, Unresolved


def highest(low: float, high: float) -> float:
    return high


@pytest.mark.parametrize(
    ("failures", "most"), [(1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (6, 300), (10, 54_000)]
)
def test_delays_grow_to_their_caps(failures: int, most: float) -> None:
    assert schedule.delay(failures, uniform=highest) == most


def test_after_the_last_there_is_none() -> None:
    assert schedule.delay(11) is None
    assert schedule.delay(6, slow=False) is None
    assert schedule.last_failure() == 11
    assert schedule.last_failure(slow=False) == 6


@given(st.integers(1, 10), st.floats(0, 1e9), st.booleans())
def test_a_delay_is_never_short_nor_longer_than_its_tier(
    failures: int, asked: float, slow: bool
) -> None:
    found = schedule.delay(failures, slow=slow, retry_after=asked)
    if failures <= schedule.FAST:
        assert found is not None
        assert schedule.LEAST <= found <= schedule.CAP
    elif slow:
        assert found == schedule.SLOW[failures - schedule.FAST - 1]
    else:
        assert found is None


def test_lookups_of_one_name_are_one_and_who_leaves_takes_nothing_along() -> None:
    asked: list[str] = []
    gate = threading.Event()

    def lookup(host: str, port: int) -> list[Address]:
        asked.append(host)
        gate.wait(10)
        return [ip_address("192.0.2.1")]

    async def main() -> list[Address]:
        resolve = Resolver(lookup)
        hasty = asyncio.create_task(resolve("slow.example", 443))
        patient = asyncio.create_task(resolve("slow.example", 443))
        await asyncio.sleep(0)
        hasty.cancel()
        gate.set()
        return await patient

    assert asyncio.run(main()) == [ip_address("192.0.2.1")]
    assert asked == ["slow.example"]


def test_slow_names_hold_up_neither_others_nor_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def lookup(host: str, port: int) -> list[Address]:
        if host.startswith("slow"):
            gate.wait(10)
        return [ip_address("192.0.2.1")]

    async def main() -> None:
        resolve = Resolver(lookup)
        slow = [asyncio.create_task(resolve(f"slow{n}.example", 443)) for n in range(20)]
        assert await resolve("quick.example", 443)
        assert not any(task.done() for task in slow)
        gate.set()
        await asyncio.gather(*slow)

    asyncio.run(main())


def test_lookups_that_hang_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "MOST", 2)
    gate, going = threading.Event(), []

    def lookup(host: str, port: int) -> list[Address]:
        going.append(host)
        gate.wait(10)
        return []

    async def main() -> None:
        resolve = Resolver(lookup)
        tasks = [asyncio.create_task(resolve(f"{n}.example", 443)) for n in range(6)]
        done, _ = await asyncio.wait(tasks, timeout=0.2)
        assert (len(done), len(going)) == (0, 2)
        gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


@pytest.mark.parametrize("error", [OSError("no such name"), ValueError("a bug")])
def test_whatever_a_lookup_raises_is_that_there_is_no_such_name(error: Exception) -> None:
    def lookup(host: str, port: int) -> list[Address]:
        raise error

    with pytest.raises(Unresolved):
        asyncio.run(_resolved(lookup))


async def _resolved(lookup: resolving.Lookup) -> list[Address]:
    return await Resolver(lookup)("nobody.example", 443)


def test_the_system_is_asked() -> None:
    assert ip_address("127.0.0.1") in resolving.system_lookup("localhost", 80)
    with pytest.raises(Unresolved):
        resolving.system_lookup("nobody.invalid", 80)
