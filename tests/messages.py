"""The sentences that readers see, and their translations.

``python -m tests.messages`` brings the catalogues up to date: it adds what is new (empty, to be
translated by hand), drops what is gone, and compiles. No gettext tools are needed.
"""

import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po

from tasks_app.generators import registry
from tasks_app.generators.remote import COMMON_HELP
from tasks_app.generators.sketch import parameters as sketch
from tasks_app.generators.sketch_video import parameters as sketch_video
from tasks_app.lifecycle import DELIVERY_SENTENCES, ERROR_SENTENCES

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "tasks_app" / "locale" / "zh_Hans" / "LC_MESSAGES"
DOMAINS: Final = ("django", "djangojs")

_KEYWORDS: Final[Mapping[str, Any]] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "Phrase": None,
}
_DATE: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Of all headers: a catalogue changes when its sentences do, and not otherwise."""
CALL: Final = re.compile(r'\bgettext\(("(?:[^"\\\n]|\\.)*")\)')
"""How scripts ask for a sentence: always written out, never put together."""
_BUILT_IN: Final = "tasks_app/management/commands/bootstrap.py"
_LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "unfold": ("*.py", "mixins", "templates", "templatetags"),
    "django": ("contrib/admin", "contrib/auth", "core", "db/models", "forms", "utils"),
}
"""What speaks on the staff's pages; what Django has no Chinese for is ours to say."""


def source(domain: str) -> Catalog:
    """Return everything that the sources say, untranslated."""
    catalog = Catalog(locale="zh_Hans")
    for where, found, context in _scripts() if domain == "djangojs" else _pages_and_python():
        catalog.add(found, locations=[(where, 0)], context=context)
    return catalog


def translated(domain: str) -> Catalog:
    """Return the catalogue that translators edit."""
    with (FOLDER / f"{domain}.po").open("rb") as file:
        return read_po(file, locale="zh_Hans")


def compiled(domain: str) -> Catalog:
    """Return the catalogue that the service reads."""
    with (FOLDER / f"{domain}.mo").open("rb") as file:
        return read_mo(file)


def messages(catalog: Catalog) -> dict[tuple[str | None, Any], Message]:
    """Return the messages by context and id, without the header."""
    return {(one.context, _key(one.id)): one for one in catalog if one.id}


def _key(found: Any) -> Any:
    """Return a sentence, or its forms, as something that can be a key."""
    return found if isinstance(found, str) else tuple(found)


Found = tuple[str, Any, str | None]


def _scripts() -> Iterator[Found]:
    # Babel's reader of JavaScript overlooks calls within template literals.
    for path in sorted((ROOT / "tasks_app" / "static" / "web").glob("*.js")):
        for literal in CALL.findall(path.read_text()):
            yield str(path.relative_to(ROOT)), json.loads(literal), None


def _pages_and_python() -> Iterator[Found]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from _extract(path, ROOT)
    for path in sorted((ROOT / "tasks_app").rglob("*.py")):
        if "migrations" not in path.parts:
            yield from _extract(path, ROOT)
    for sentence in (*ERROR_SENTENCES.values(), *DELIVERY_SENTENCES.values()):
        yield "tasks_app/lifecycle.py", sentence, None
    for schema in (sketch.schema(), sketch_video.schema(), *_schemas_of_upstreams()):
        for words in _words(schema):
            yield "tasks_app/generators", words, None
    for name in registry.names():
        yield "tasks_app/generators", registry.adapter_class(name).settings_help, None
    yield "tasks_app/generators", COMMON_HELP, None
    yield from _built_in()
    yield from _libraries()


def _schemas_of_upstreams() -> Iterator[Mapping[str, Any]]:
    """Yield the forms of generators that work elsewhere and bring one of their own."""
    for name in ("comfyui", "dashscope", "openai-images", "openai-videos"):
        yield registry.adapter_class(name)().parameter_schema({})


def _words(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield what ``tasks_app.web.localise`` looks up of a schema."""
    yield from (spec[name] for name in ("title", "description") if spec.get(name))
    yield from spec.get("x-enum-labels", {}).values()
    for inner in spec.get("properties", {}).values():
        yield from _words(inner)


def _built_in() -> Iterator[Found]:
    """Yield the titles and descriptions of the generators of a first start."""
    import ast

    for node in ast.walk(ast.parse((ROOT / _BUILT_IN).read_text())):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) else ""
            if name in ("title", "description") and isinstance(value, ast.Constant):
                yield _BUILT_IN, value.value, None


def _libraries() -> Iterator[Found]:
    """Yield what the libraries say on the staff's pages and Django does not say in Chinese."""
    known = _said_by_django()
    for name, parts in _LIBRARIES.items():
        package = Path(str(files(name)))
        paths = (path for part in parts for found in package.glob(part) for path in _files(found))
        for path in sorted(paths):
            for _, message, context in _extract(path, package):
                if (context, _first(message)) not in known:
                    yield name, message, context


def _files(found: Path) -> Iterator[Path]:
    """Yield the sources in a folder, or the one that it is."""
    paths = found.rglob("*") if found.is_dir() else (found,)
    return (path for path in paths if path.suffix in (".py", ".html"))


def _said_by_django() -> set[tuple[str | None, str]]:
    """Return the sentences that have a Chinese translation in Django itself."""
    found = set()
    for path in Path(str(files("django"))).rglob("locale/zh_Hans/LC_MESSAGES/django.mo"):
        with path.open("rb") as file:
            said = read_mo(file)
        found |= {(one.context, _first(one.id)) for one in said if one.id and all(_strings(one))}
    return found


def _first(message: Any) -> str:
    """Return a sentence, or its first form: the second is not what it is looked up by."""
    return message if isinstance(message, str) else str(message[0])


def _extract(path: Path, root: Path) -> Iterator[Found]:
    from django.utils.translation.template import templatize

    text = path.read_text()
    if path.suffix == ".html":
        # Tokens of Python on lines of their own: their indentation means nothing.
        text = "\n".join(line.strip() for line in templatize(text).splitlines())
    where = str(path.relative_to(root))
    found = extract("python", io.BytesIO(text.encode()), keywords=_KEYWORDS)
    for _, message, _, context in found:
        yield where, message, context


def update() -> None:
    """Bring the catalogues of all domains up to date and compile them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for domain in DOMAINS:
        path = FOLDER / f"{domain}.po"
        old = messages(translated(domain)) if path.exists() else {}
        fresh = Catalog(
            locale="zh_Hans",
            project="Darkroom",
            version="",
            header_comment="# Darkroom in Simplified Chinese.",
            copyright_holder="Darkroom",
            msgid_bugs_address="",
            creation_date=_DATE,
            revision_date=_DATE,
            last_translator="",
            language_team="",
            fuzzy=False,
        )
        for key, message in messages(source(domain)).items():
            known = old.get(key)
            fresh.add(
                message.id,
                known.string if known else None,
                locations=sorted({(place, None) for place, _ in message.locations}),  # type: ignore[misc]
                context=message.context,
            )
        with path.open("wb") as file:
            write_po(file, fresh, sort_output=True, width=100, include_lineno=False)
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, fresh)
        empty = sum(1 for one in messages(fresh).values() if not all(_strings(one)))
        print(f"{domain}: {len(fresh)} sentences, {empty} without a translation")


def _strings(message: Message) -> tuple[str, ...]:
    found: Any = message.string
    return found if isinstance(found, tuple) else (found,)


if __name__ == "__main__":
    update()
