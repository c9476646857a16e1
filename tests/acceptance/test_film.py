"""A video from prompt to player, in a real browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tasks_app.management.commands.bootstrap import ensure_sketch_video
from tests.acceptance.browser import Complaints, chromium, log_in, new_context, screenshots
from tests.acceptance.conftest import Running
from tests.processes import eventually

pytestmark = pytest.mark.timeout(300)

PROMPT = "a boat on the sea at dusk"


@pytest.fixture
def made(running: Running) -> str:
    """Return the id of a task that has made a small video."""
    ensure_sketch_video()
    params = {"prompt": PROMPT, "width": 320, "height": 256, "seconds": 2, "fps": 12, "seed": 7}
    with running.service.client(running.api_key) as client:
        answer = client.post("/v1/tasks", json={"generator": "sketch-video", "params": params})
        assert answer.status_code == 202, answer.text
        task_id = str(answer.json()["task_id"])

        def status() -> str:
            return str(client.get(f"/v1/tasks/{task_id}").json()["status"])

        eventually(lambda: status() == "success", within=60)
    return task_id


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Return Chromium."""
    with chromium() as found:
        yield found


def playing(page: Page, selector: str) -> None:
    """Wait until a video has moved on."""
    page.wait_for_function(
        "s => { const v = document.querySelector(s); return v && !v.paused && v.currentTime }",
        arg=selector,
    )


def test_a_video_plays_on_its_page_and_under_the_pointer(
    running: Running, made: str, browser: Browser
) -> None:
    complaints = Complaints()
    page = new_context(browser).new_page()
    complaints.watch(page)
    log_in(page, running.url, running.user, running.password)
    tile = page.locator(".tile").filter(has_text=PROMPT)
    expect(tile).to_have_count(1)
    expect(tile.locator(".length")).to_have_text("2 s")
    page.reload()
    assert page.locator(".box video").count() == 0
    before = tile.bounding_box()
    tile.get_by_role("link").hover()
    playing(page, ".box video")
    assert tile.bounding_box() == before
    screenshots(page, "film-gallery")
    page.mouse.move(1, 1)
    expect(page.locator(".box video")).to_have_count(0)

    page.goto(f"{running.url}/tasks/{made}")
    playing(page, "figure video")
    video = page.locator("figure video")
    for name in ("muted", "loop", "playsInline", "controls"):
        expect(video).to_have_js_property(name, True)
    expect(video).to_have_js_property("videoWidth", 320)
    expect(video).to_have_js_property("clientWidth", 320)
    expect(page.locator(".params")).to_contain_text(re.compile(r"Length\s*2 s"))
    expect(page.get_by_role("button", name="Delete video")).to_be_visible()
    screenshots(page, "film-task")
    assert complaints.lines == []


def test_nothing_moves_for_those_who_asked_for_calm(
    running: Running, made: str, browser: Browser
) -> None:
    page = new_context(browser, reduced_motion="reduce").new_page()
    log_in(page, running.url, running.user, running.password)
    tile = page.locator(".tile").filter(has_text=PROMPT)
    expect(tile).to_have_count(1)
    tile.get_by_role("link").hover()
    page.wait_for_timeout(300)
    assert page.locator(".box video").count() == 0
    page.goto(f"{running.url}/tasks/{made}")
    video = page.locator("figure video")
    expect(video).to_have_js_property("paused", True)
    expect(video).to_have_js_property("clientHeight", 256)
