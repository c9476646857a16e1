"""Reading pages in tests."""

import json
from html.parser import HTMLParser
from typing import Any

Attributes = list[tuple[str, str | None]]


class Page(HTMLParser):
    """Notes everything that a strict policy forbids, and the data that a page carries."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.foreign: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[str] = []
        self._data_of: str | None = None
        self.data: dict[str, Any] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "style" or (tag == "script" and not self._is_file_or_data(given)):
            self.inline.append(tag)
        for name, value in given.items():
            if name == "style" or name.startswith("on") or value.startswith("javascript:"):
                self.inline.append(f"{tag} {name}")
            if name in ("src", "href", "action") and "//" in value:
                self.foreign.append(value)
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "script" and "src" in given:
            self.scripts.append(given["src"])
        self._data_of = given.get("id") if tag == "script" and "src" not in given else None

    def handle_data(self, data: str) -> None:
        if self._data_of:
            self.data[self._data_of] = json.loads(data)

    def handle_endtag(self, tag: str) -> None:
        self._data_of = None

    @staticmethod
    def _is_file_or_data(given: dict[str, str]) -> bool:
        return bool(given.get("src")) or given.get("type") == "application/json"
