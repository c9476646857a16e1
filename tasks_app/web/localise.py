"""The reader's language for what is written in English elsewhere: schemas, built-ins, errors.

Adapters and the core know no languages, and the API speaks one. Their sentences are looked up
in the catalogue here, at the edge; what it does not know (an operator's own generator) stays
as it was written.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext

from tasks_app.lifecycle import ERROR_SENTENCES

_WORDS: Final = ("title", "description")
_LABELS: Final = "x-enum-labels"


def said(text: str) -> str:
    """Return a sentence in the reader's language. Nothing stays nothing."""
    return gettext(text) if text else text


def generator(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a generator's document with its words, and those of its form, translated."""
    return _spec(document) | {"params_schema": schema(document["params_schema"])}


def schema(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose titles, descriptions and labels are translated."""
    properties = found.get("properties", {})
    return _spec(found) | {"properties": {name: _spec(spec) for name, spec in properties.items()}}


def errors() -> dict[str, dict[str, str]]:
    """Return for each error code the sentence that documents have, and what it is called here."""
    return {
        code.value: {"english": sentence, "said": said(sentence)}
        for code, sentence in ERROR_SENTENCES.items()
    }


def _spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(spec)
    for name in _WORDS:
        if isinstance(found.get(name), str):
            found[name] = said(found[name])
    labels = found.get(_LABELS)
    if isinstance(labels, Mapping):
        found[_LABELS] = {
            value: said(label) if isinstance(label, str) else label
            for value, label in labels.items()
        }
    return found
