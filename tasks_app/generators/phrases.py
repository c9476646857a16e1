"""Sentences of adapters that can be said in other languages: English, and what was put into it.

Adapters know no languages. Whoever shows a sentence to somebody looks its template up in the
catalogue (``make words`` collects them) and puts the values in again.
"""

from collections.abc import Mapping
from typing import Self


class Phrase(str):
    """An English text that remembers the sentences it was made of.

    ``parts``: templates with placeholders such as ``%(name)s``, and their values.
    """

    __slots__ = ("parts",)

    parts: tuple[tuple[str, Mapping[str, object]], ...]

    def __new__(cls, template: str, **values: object) -> Self:
        """Put values into a template, which must be written out where this is called."""
        made = super().__new__(cls, template % values if values else template)
        made.parts = ((template, values),)
        return made

    @classmethod
    def of(cls, *texts: str) -> Self:
        """Return several sentences as one text."""
        made = super().__new__(cls, " ".join(texts))
        made.parts = tuple(part for text in texts for part in parts_of(text))
        return made


def parts_of(text: str) -> tuple[tuple[str, Mapping[str, object]], ...]:
    """Return the sentences of a text; one that is no ``Phrase`` is its own."""
    return text.parts if isinstance(text, Phrase) else ((text, {}),)
