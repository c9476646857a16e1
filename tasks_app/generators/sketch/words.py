"""Reads prompts, English and Chinese, into the concepts of ``lexicon``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from tasks_app.generators.sketch.lexicon import OPPOSITES, TERMS

_TOKEN: Final = re.compile(r"[a-z]+|[\u3400-\u9fff]+|[^\sa-z\u3400-\u9fff]")
_NEGATIONS_EN: Final = frozenset({"no", "without", "not", "never"})
_FILLERS_EN: Final = frozenset({"a", "an", "any", "the", "or"})
_NEGATIONS_ZH: Final = ("没有", "沒有", "不要", "无", "無")
_LONGEST_PHRASE: Final = 3


@dataclass(frozen=True, slots=True)
class Mention:
    """One concept found in a text; ``negated`` after "no", "without", "没有" and the like."""

    concept: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a prompt asks for and what must not appear.

    ``wanted`` maps concepts to weights, in the order of their first mention; earlier and
    repeated words weigh more. A concept is never both wanted and avoided.
    """

    text: str
    wanted: Mapping[str, float]
    avoided: frozenset[str]

    def has(self, *concepts: str) -> bool:
        """Return whether any of these concepts is asked for."""
        return any(concept in self.wanted for concept in concepts)

    def allows(self, concept: str) -> bool:
        """Return whether a picture may show this concept of its own accord."""
        return concept not in self.avoided

    def group(self, group: str) -> list[str]:
        """Return the names asked for in ``group`` (such as ``colour``), in order of mention."""
        prefix = f"{group}."
        return [name[len(prefix) :] for name in self.wanted if name.startswith(prefix)]

    def avoided_in(self, group: str) -> list[str]:
        """Return the names to avoid in ``group``, sorted."""
        prefix = f"{group}."
        return sorted(name[len(prefix) :] for name in self.avoided if name.startswith(prefix))


def read(prompt: str, negative_prompt: str = "") -> Reading:
    """Return what ``prompt`` asks for once everything in ``negative_prompt`` is taken away."""
    mentions = list(_mentions(prompt))
    avoided = {mention.concept for mention in mentions if mention.negated}
    avoided |= {mention.concept for mention in _mentions(negative_prompt)}
    wanted: dict[str, float] = {}
    for position, mention in enumerate(mentions):
        if mention.concept not in avoided:
            weight = 1.0 / (1.0 + 0.15 * position)
            before = wanted.get(mention.concept)
            wanted[mention.concept] = weight if before is None else before + 0.4 * weight
    for concept in sorted(avoided):
        avoided.update(brought for brought in OPPOSITES.get(concept, ()) if brought not in wanted)
    return Reading(prompt, wanted, frozenset(avoided))


def _mentions(text: str) -> Iterator[Mention]:
    tokens = _TOKEN.findall(text.lower())
    position = 0
    negated = False
    while position < len(tokens):
        token = tokens[position]
        if not ("a" <= token[0] <= "z"):
            yield from _mentions_in_chinese(token)
            negated = False
            position += 1
            continue
        concepts, length = _match_english(tokens, position)
        yield from (Mention(concept, negated) for concept in concepts)
        negated = token in _NEGATIONS_EN or (negated and token in _FILLERS_EN)
        position += length


def _match_english(tokens: list[str], position: int) -> tuple[tuple[str, ...], int]:
    """Return the concepts of the longest known phrase here, and how many words it took."""
    known = _english()
    for length in range(_LONGEST_PHRASE, 0, -1):
        words = tokens[position : position + length]
        if len(words) < length:
            continue
        for last in _singulars(words[-1]):
            concepts = known.get("_".join([*words[:-1], last]))
            if concepts:
                return concepts, length
    return (), 1


def _mentions_in_chinese(run: str) -> Iterator[Mention]:
    known, longest = _chinese()
    position = 0
    negated = False
    while position < len(run):
        negation = next((word for word in _NEGATIONS_ZH if run.startswith(word, position)), None)
        for length in range(min(longest, len(run) - position), 0, -1):
            concepts = known.get(run[position : position + length])
            if concepts and (negation is None or length > len(negation)):
                yield from (Mention(concept, negated) for concept in concepts)
                position += length
                negated = False
                break
        else:
            negated = negation is not None or negated
            position += len(negation or "x")


def _singulars(word: str) -> Iterator[str]:
    """Yield the word and what it may be the plural of."""
    yield word
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]


@cache
def _english() -> dict[str, tuple[str, ...]]:
    known: dict[str, tuple[str, ...]] = {}
    for concept, (english, _) in TERMS.items():
        for word in english.split():
            known[word] = (*known.get(word, ()), concept)
    return known


@cache
def _chinese() -> tuple[dict[str, tuple[str, ...]], int]:
    known: dict[str, tuple[str, ...]] = {}
    for concept, (_, chinese) in TERMS.items():
        for word in chinese.split():
            known[word] = (*known.get(word, ()), concept)
    return known, max(map(len, known))
