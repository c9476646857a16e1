"""Looking whether an upstream is there and accepts us, at no cost: "test connection"."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tasks_app.core.remote.lines import Clients, Line
from tasks_app.generators import registry
from tasks_app.generators.errors import GeneratorError, InvalidSettings
from tasks_app.generators.phrases import Phrase
from tasks_app.generators.remote import RemoteAdapter
from tasks_app.models import Generator

SECONDS: Final = 10.0
"""For all that are looked at together."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was seen of one generator's upstream, in a sentence: a ``Phrase`` where it is ours."""

    generator: str
    well: bool
    text: str


def check(generators: Sequence[Generator]) -> list[Verdict]:
    """Look at the upstreams of generators, all at once; those that work here have none.

    Credentials are read where this runs: workers of other hosts may have others.
    """
    return asyncio.run(_check(generators))


async def _check(generators: Sequence[Generator]) -> list[Verdict]:
    clients = Clients()
    try:
        return list(await asyncio.gather(*(_one(clients, each) for each in generators)))
    finally:
        await clients.close()


async def _one(clients: Clients, generator: Generator) -> Verdict:
    try:
        adapter = registry.build(generator.adapter, generator.settings)
        if not isinstance(adapter, RemoteAdapter):
            return Verdict(generator.name, True, Phrase("It works here and has no upstream."))
        line = Line(clients.single, generator.name, adapter, generator.settings, SECONDS)
        async with asyncio.timeout(SECONDS):
            said = await adapter.check(line, generator.settings)
        return Verdict(generator.name, True, said)
    except GeneratorError as error:
        return Verdict(generator.name, False, error.phrase or Phrase("It does not answer."))
    except (InvalidSettings, registry.UnknownAdapter) as error:
        text = Phrase("Its settings do not fit: %(why)s", why=str(error))
        return Verdict(generator.name, False, text)
    except TimeoutError:
        text = Phrase("It did not answer within %(seconds)d seconds.", seconds=SECONDS)
        return Verdict(generator.name, False, text)
    except Exception as error:  # whatever an answer led to: its text may hold anything
        text = Phrase("It answers oddly (%(what)s).", what=type(error).__name__)
        return Verdict(generator.name, False, text)
