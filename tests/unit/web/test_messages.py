"""Every sentence is said in Chinese, too, and the compiled catalogue is the one that was written.

``python -m tests.messages`` adds what is new and compiles; translating it is for a human.
"""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from tasks_app.lifecycle import ERROR_SENTENCES, ErrorCode
from tasks_app.web import localise
from tests import messages
from tests.unit.web.pages import Page

_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_SAME_IN_BOTH = {"12", "24", "PNG", "WebP"}


def strings(message: Any) -> list[str]:
    found = message.string
    return [found] if isinstance(found, str) else list(found)


@pytest.mark.parametrize("domain", messages.DOMAINS)
def test_the_catalogue_has_what_the_sources_say_and_nothing_else(domain: str) -> None:
    said = set(messages.messages(messages.source(domain)))
    known = set(messages.messages(messages.translated(domain)))
    assert said - known == set()
    assert known - said == set()


@pytest.mark.parametrize("domain", messages.DOMAINS)
def test_every_sentence_is_translated_with_its_placeholders(domain: str) -> None:
    for message in messages.messages(messages.translated(domain)).values():
        assert not message.fuzzy, message.id
        original = message.id if isinstance(message.id, str) else message.id[-1]
        for text in strings(message):
            assert text, message.id
            has_words = re.search(r"[A-Za-z]", _PLACEHOLDER.sub("", original))
            assert _CHINESE.search(text) or original in _SAME_IN_BOTH or not has_words, message.id
            placeholders = sorted(_PLACEHOLDER.findall(text))
            assert placeholders == sorted(_PLACEHOLDER.findall(original)), message.id


@pytest.mark.parametrize("domain", messages.DOMAINS)
def test_what_is_compiled_is_what_was_written(domain: str) -> None:
    written = messages.messages(messages.translated(domain))
    compiled = messages.messages(messages.compiled(domain))
    assert {key: strings(one) for key, one in written.items()} == {
        key: strings(one) for key, one in compiled.items()
    }


def test_scripts_ask_for_sentences_that_are_written_out() -> None:
    """What is put together is found by nobody who collects sentences."""
    for path in sorted((messages.ROOT / "tasks_app" / "static" / "web").glob("*.js")):
        text = path.read_text()
        if path.name == "i18n.js":
            text = text[text.index("// format(") :]  # after the functions themselves
        assert "ngettext(" not in text, path.name
        asked = text.count("gettext(")
        assert asked == len(messages.CALL.findall(text)), path.name


def test_errors_and_schemas_are_said_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        said = localise.errors()[ErrorCode.WORKER_LOST]
        schema = localise.schema(
            {
                "title": "Sketch",
                "properties": {
                    "detail": {"title": "Detail", "x-enum-labels": {"fine": "Fine"}, "default": ""},
                    "own": {"title": "An operator's own", "description": ""},
                },
            }
        )
    assert said["english"] == ERROR_SENTENCES[ErrorCode.WORKER_LOST]
    assert _CHINESE.search(said["said"])
    assert schema["title"] == "速写"
    assert schema["properties"]["detail"]["x-enum-labels"] == {"fine": "精细"}
    assert schema["properties"]["own"] == {"title": "An operator's own", "description": ""}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("accepted", "language"),
    [("zh-CN,zh;q=0.9", "zh-hans"), ("zh", "zh-hans"), ("fr, en;q=0.5", "en"), ("", "en")],
)
def test_the_browsers_wish_is_honoured(client: Client, accepted: str, language: str) -> None:
    text = client.get("/login", headers={"accept-language": accepted}).content.decode()
    assert f'<html lang="{language}"' in text
    assert ("请进" in text) == (language == "zh-hans")


@pytest.mark.django_db
def test_the_switch_keeps_the_page_and_the_choice(client: Client) -> None:
    response = client.post("/language", {"language": "zh-hans", "next": "/login?next=/gallery"})
    assert response["Location"] == "/login?next=/gallery"
    assert response.cookies["darkroom_language"]["samesite"] == "Lax"
    text = client.get("/login").content.decode()
    assert "显影" in text
    assert 'lang="en"' in text  # the way back
    words = client.get("/jsi18n").content.decode()
    assert "\\u663e\\u5f71" in words or "显影" in words
    elsewhere = client.post("/language", {"language": "en", "next": "https://evil.example/"})
    assert "evil" not in elsewhere["Location"]


@pytest.mark.django_db
def test_the_api_speaks_english_to_everyone(visitor: Client) -> None:
    headers = {"accept-language": "zh-CN"}
    refused = visitor.post("/v1/tasks", {}, content_type="application/json", headers=headers)
    assert "Required." in refused.content.decode()
    assert not _CHINESE.search(refused.content.decode())


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/gallery", "/keys", "/account", "/account/password"])
def test_pages_are_in_one_language(visitor: Client, path: str) -> None:
    """No English is left between the tags of a Chinese page, but names."""
    visitor.post("/language", {"language": "zh-hans"})
    text = visitor.get(path).content.decode()
    words = Words(text).found
    assert [word for word in words if not _CHINESE.search(word) and word not in _NAMES] == []


_NAMES = {"Darkroom", "EN", "alice", "standard"}


class Words(Page):
    """Collects what a reader sees, and what is read out."""

    def __init__(self, text: str) -> None:
        self.found: list[str] = []
        super().__init__(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        given = dict(attrs)
        names = ("aria-label", "title", "placeholder", "alt")
        if given.get("lang") != "en":
            self.found += [text for name in names if (text := given.get(name))]

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if not self._data_of and re.search(r"[A-Za-z]", data):
            self.found.append(data.strip())
