"""Where in a body of JSON something is wrong: the field, the line and the column."""

import re
from typing import Final

import orjson

MAX_TOKENS: Final = 40_000
"""Tokens looked at before the search is given up; an honest body has a few dozen."""

_TOKENS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]', re.DOTALL)

Path = list[str | int]


def path_to(text: str, position: int) -> Path | None:
    """Return the way to the value that begins or goes on at a position (in characters).

    Where a name is expected, the way leads to its object. None: it is too far in to be looked
    for, or what comes before the position is no JSON either.
    """
    try:
        return _path_to(text, position)
    except orjson.JSONDecodeError:
        return None


def _path_to(text: str, position: int) -> Path | None:
    open_: list[str | int | None] = []
    name = ""
    for number, token in enumerate(_TOKENS.finditer(text, 0, position)):
        if number >= MAX_TOKENS:
            return None
        if token[0][0] == '"':
            name = token[0]
        else:
            _step(open_, token[0], name)
    return [part for part in open_ if part is not None]


def _step(open_: list[str | int | None], mark: str, name: str) -> None:
    """Follow one mark: a list's place is an index, an object's a name, None before its colon."""
    if mark in "{[":
        open_.append(None if mark == "{" else 0)
    elif not open_:
        return
    elif mark in "}]":
        open_.pop()
    elif mark == ":":
        open_[-1] = orjson.loads(name)
    else:
        here = open_[-1]
        open_[-1] = here + 1 if isinstance(here, int) else None


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column of a position (in characters), both from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
