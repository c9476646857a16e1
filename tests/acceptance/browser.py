"""A real Chromium for tests, and a watch on everything that it complains about."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Playwright
from playwright.sync_api import sync_playwright as start_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDE: Final = {"width": 1280, "height": 850}
NARROW: Final = {"width": 375, "height": 812}

_REPORT_VIOLATIONS: Final = """
addEventListener("securitypolicyviolation", (event) => console.error(
  `policy: ${event.violatedDirective} forbids ${event.blockedURI} in ${event.sourceFile}`));
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium. Without one the test is skipped, but under CI it fails."""
    with start_playwright() as playwright:
        path = executable(playwright)
        if path is None:
            reason = f"no Chromium: install one of {', '.join(NAMES)}, or set DARKROOM_CHROMIUM"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(f"THE PAGES ARE NOT TESTED: {reason}")
        # Its sandbox does not run as root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def executable(playwright: Playwright) -> str | None:
    """Return the path of a Chromium: the named one, the system's, or Playwright's own."""
    named = os.environ.get("DARKROOM_CHROMIUM")
    if named:
        return named
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


class Complaints:
    """Everything that a page says went wrong: errors, warnings, forbidden loads, lost requests."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def watch(self, page: Page) -> None:
        """Listen to a page from now on."""
        page.add_init_script(_REPORT_VIOLATIONS)
        page.on("console", self._console)
        page.on("pageerror", self._page_error)

    def expect(self, *parts: str) -> None:
        """Take off the complaints that a test provoked; each part must have occurred."""
        for part in parts:
            matching = [line for line in self.lines if part in line]
            assert matching, f"nothing complained about {part!r}: {self.lines}"
            self.lines = [line for line in self.lines if part not in line]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            where = message.location.get("url", "")
            self.lines.append(f"{message.type}: {message.text} {where}")

    def _page_error(self, error: Error) -> None:
        self.lines.append(f"exception: {error.stack or error}")


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """Return a fresh profile: wide and dark unless told otherwise."""
    defaults: dict[str, Any] = {"viewport": WIDE, "color_scheme": "dark", "locale": "en-GB"}
    context = browser.new_context(**{**defaults, **options})
    context.set_default_timeout(20_000)
    return context


def log_in(page: Page, url: str, user: str, password: str) -> None:
    """Go to the site and log in."""
    page.goto(f"{url}/")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("Prompt", exact=True).wait_for()


def screenshots(page: Page, name: str) -> None:
    """Save the page wide and narrow, dark and light, if DARKROOM_SCREENSHOTS names a folder."""
    folder = os.environ.get("DARKROOM_SCREENSHOTS")
    if not folder:
        return
    for size, viewport in (("wide", WIDE), ("narrow", NARROW)):
        page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(400)  # transitions
            page.screenshot(path=Path(folder) / f"{name}-{size}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": WIDE["width"], "height": WIDE["height"]})
    page.emulate_media(color_scheme="dark")
