"""One service for all tests of a module: starting one takes longer than most tests.

What the database must hold is made before the browser starts: Playwright runs an event loop in
this thread, and Django's ORM refuses to work beside one. After that the tests ask the API.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from django.core.management import call_command
from playwright.sync_api import Browser, Page

from tasks_app.core import credentials
from tasks_app.management.commands.bootstrap import ensure_sketch
from tests import messages
from tests.acceptance.browser import Complaints, new_context
from tests.conftest import make_generator, make_user
from tests.history import fill
from tests.processes import Service, eventually

PEOPLE = ("ada", "bob", "cleo", "dora", "finn", "gwen")
GUESTS = tuple(f"guest{number}" for number in range(1, 15))
"""Users without any task, one for each test that wants to begin with nothing."""

OLDER = 60
PICTURES = (
    ("A lighthouse in a storm at dusk", 2),
    ("雨夜的城市，霓虹灯倒映在水面", 1),
    ("Desert dunes at noon", 1),
)


@dataclass
class House:
    """A running service with ada, who has a history, and bob, who must be refused."""

    service: Service
    keys: dict[str, str]
    guests: Iterator[str] = field(default_factory=lambda: iter(GUESTS))

    @property
    def url(self) -> str:
        """Where it is."""
        return self.service.url

    def api(self, user: str = "ada") -> httpx.Client:
        """Return a client of the API that acts as this user."""
        return self.service.client(self.keys[user])

    def make(
        self, prompt: str, user: str = "ada", generator: str = "sleeper", **params: Any
    ) -> str:
        """Submit a task and return its id."""
        body = {"generator": generator, "params": {"prompt": prompt, **params}}
        with self.api(user) as client:
            answer = client.post("/v1/tasks", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["task_id"])

    def task(self, task_id: str, user: str = "ada") -> dict[str, Any]:
        """Return a task as the API has it."""
        with self.api(user) as client:
            found: dict[str, Any] = client.get(f"/v1/tasks/{task_id}").json()
        return found

    def ended(self, task_id: str, user: str = "ada") -> dict[str, Any]:
        """Wait until a task has ended."""
        live = {"pending", "running"}
        eventually(lambda: self.task(task_id, user)["status"] not in live, why="it ends")
        return self.task(task_id, user)

    def find(self, user: str = "ada", **query: str) -> list[dict[str, Any]]:
        """List tasks."""
        with self.api(user) as client:
            found: list[dict[str, Any]] = client.get("/v1/tasks", params=query).json()["items"]
        return found


@contextmanager
def opened(folder: Path) -> Iterator[House]:
    """Start a service, let ada make pictures, and leave nothing behind."""
    ensure_sketch()
    sleeper = make_generator("sleeper")
    make_generator("broken", "broken", failure_budget=1)
    make_generator("closed", paused=True)
    keys = {}
    for name in (*PEOPLE, *GUESTS):
        user = make_user(name)
        keys[name] = credentials.create(user, "test")[1]
        if name == "ada":
            fill(user, OLDER, sleeper, gap=3600)
    service = Service(folder, DARKROOM_CALLBACK_ALLOW="127.0.0.0/8")
    house = House(service, keys)
    try:
        service.web()
        service.workers(1)
        service.workers(1, "callbacks")
        service.ticker()
        size: dict[str, Any] = {"width": 256, "height": 256, "detail": "draft"}
        made = [house.make(prompt, generator="sketch", n=n, **size) for prompt, n in PICTURES]
        for task_id in made:
            assert house.ended(task_id)["status"] == "success"
        yield house
    finally:
        service.stop()
        call_command("flush", interactive=False, verbosity=0)
        shutil.rmtree(folder, ignore_errors=True)


LANGUAGES = {"en": "en-GB", "zh": "zh-CN"}


@dataclass
class Reader:
    """Somebody in front of a browser, in one language."""

    house: House
    page: Page
    complaints: Complaints
    language: str
    words: dict[str, str]

    def say(self, message: str, **values: object) -> str:
        """Return a sentence as this reader sees it."""
        text = self.words.get(message, message) if self.language == "zh" else message
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value)).replace(f"%({name})s", str(value))
        return text

    def go(self, path: str) -> None:
        """Open a page and wait until everything is there."""
        self.page.goto(f"{self.house.url}{path}")
        self.page.wait_for_load_state("load")

    def log_in(self, user: str, password: str = "") -> None:
        """Log in."""
        self.go("/login")
        self.page.locator("#id_username").fill(user)
        self.page.locator("#id_password").fill(password or f"{user}-password")
        self.page.get_by_role("button", name=self.say("Log in")).click()
        self.page.locator("#compose").wait_for()

    def button(self, message: str) -> Any:
        """Return the button with this word."""
        return self.page.get_by_role("button", name=self.say(message), exact=True)

    def link(self, message: str) -> Any:
        """Return the link with this word."""
        return self.page.get_by_role("link", name=self.say(message), exact=True)


def dictionary() -> dict[str, str]:
    """Return what sentences are in Chinese."""
    found: dict[str, str] = {}
    for domain in messages.DOMAINS:
        for message in messages.messages(messages.translated(domain)).values():
            if isinstance(message.id, str):
                found[message.id] = str(message.string)
    return found


def reader(house: House, browser: Browser, language: str, **options: Any) -> Reader:
    """Open a fresh browser profile for somebody."""
    context = new_context(browser, locale=LANGUAGES[language], **options)
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    return Reader(house, page, complaints, language, dictionary())
