"""The pages in a real browser, against a real server, worker and ticker.

The service and the browser are those of the module (``house``); each test is another guest.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect

from tests.acceptance.browser import Complaints, log_in, new_context, screenshots
from tests.acceptance.conftest import Running
from tests.acceptance.house import House
from tests.processes import eventually

pytestmark = [pytest.mark.timeout(300), pytest.mark.django_db]

expect.set_options(timeout=20_000)


@dataclass
class Studio:
    """A logged-in page of the studio."""

    running: Running
    browser: Browser
    page: Page
    complaints: Complaints
    requests: list[Request] = field(default_factory=list)

    def fill(self, prompt: str, generator: str = "sleeper", **values: str) -> None:
        """Fill the form in."""
        self.page.get_by_label("Generator").select_option(generator)
        self.page.get_by_label("Prompt", exact=True).fill(prompt)
        for name, value in values.items():
            self.page.get_by_label(name.title()).fill(value)

    def note(self, request: Request) -> None:
        """Keep a request."""
        self.requests.append(request)

    @property
    def develop(self) -> Locator:
        """The button that hands the form in."""
        return self.page.locator("#compose button[type=submit]")

    def card(self, prompt: str) -> Locator:
        """The card of a task in the tray."""
        return self.page.locator(".card").filter(has_text=prompt)

    def tile(self, prompt: str) -> Locator:
        """The box of a task among the recent ones."""
        return self.page.locator(".tile").filter(has_text=prompt)

    def tasks(self) -> list[dict[str, Any]]:
        """Return all tasks, as the API has them."""
        with self.running.service.client(self.running.api_key) as client:
            found: list[dict[str, Any]] = client.get("/v1/tasks?limit=100").json()["items"]
        return found

    def polls(self) -> list[list[str]]:
        """Return the ids of each poll so far."""
        queries = [parse_qs(urlsplit(one.url).query) for one in self.requests]
        return [query["ids"][0].split(",") for query in queries if "ids" in query]


@pytest.fixture
def studio(house: House, browser: Browser) -> Iterator[Studio]:
    """Return the studio of somebody who has not made anything yet."""
    name = next(house.guests)
    running = Running(house.url, name, f"{name}-password", house.keys[name], None, house.service)
    context = new_context(browser)
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    log_in(page, running.url, running.user, running.password)
    one = Studio(running, browser, page, complaints)
    page.on("request", one.note)
    yield one
    assert complaints.lines == []
    context.close()


def test_from_the_login_to_a_picture_and_its_end(studio: Studio) -> None:
    page = studio.page
    expect(page.get_by_text("Your first picture is one sentence away")).to_be_visible()
    screenshots(page, "empty")
    page.get_by_role("button", name="A lighthouse in a storm at dusk").click()
    page.get_by_label("Generator").select_option("sketch")
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("A lighthouse in a storm at dusk")
    page.get_by_label("Square").check()
    page.get_by_label("Roll a seed").click()
    seed = page.get_by_label("Seed", exact=True).input_value()
    page.keyboard.press("Control+Enter")
    card = studio.card("A lighthouse in a storm at dusk")
    expect(card).to_have_attribute("data-state", "success")
    picture = card.get_by_role("img", name="A lighthouse in a storm at dusk")
    expect(picture).to_have_js_property("naturalWidth", 1024)
    expect(picture).to_have_css("opacity", "1")
    screenshots(page, "finished")
    with page.expect_download() as download:
        card.get_by_role("link", name="Download").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    open_it = card.get_by_role("link", name="Open", exact=True)
    expect(open_it).to_have_attribute("href", f"/tasks/{studio.tasks()[0]['task_id']}")
    card.get_by_role("button", name="Put away").click()
    expect(card).to_have_count(0)
    thumbnail = studio.tile("A lighthouse").locator("img")
    expect(thumbnail).to_have_js_property("complete", True)

    studio.tile("A lighthouse").get_by_role("link").click()
    expect(page).to_have_title(re.compile("A lighthouse in a storm at dusk"))
    expect(page.locator(".history li")).to_have_count(3)
    expect(page.locator(".params")).to_contain_text(seed)
    expect(page.locator("figure img")).to_have_js_property("naturalWidth", 1024)
    screenshots(page, "task")
    page.get_by_role("button", name="Delete picture").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".wall")).to_contain_text("Removed")
    page.get_by_role("link", name="Reuse").click()
    expect(page.get_by_label("Seed", exact=True)).to_have_value(seed)
    expect(studio.tile("A lighthouse")).to_contain_text("Removed")


def test_progress_survives_a_reload_and_a_lost_connection(studio: Studio) -> None:
    page = studio.page
    studio.fill("slow one", seconds="15")
    studio.develop.click()
    card = studio.card("slow one")
    expect(card).to_have_attribute("data-state", "running")
    bar = card.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", re.compile("[1-9]"))
    screenshots(page, "running")
    page.reload()
    expect(card).to_have_attribute("data-state", "running")
    page.context.set_offline(True)
    expect(page.locator("#net")).to_have_text("Reconnecting…")
    page.context.set_offline(False)
    expect(page.locator("#net")).to_be_hidden()
    expect(card).to_have_attribute("data-state", "success")
    assert len(studio.tasks()) == 1
    page.reload()
    expect(studio.tile("slow one").locator("img")).to_be_visible()
    expect(card).to_have_count(0)
    studio.complaints.expect("ERR_INTERNET_DISCONNECTED")


def test_a_double_click_or_a_lost_answer_is_one_task(studio: Studio) -> None:
    studio.fill("twice", seconds="1")
    studio.develop.dblclick()
    expect(studio.card("twice")).to_have_attribute("data-state", "success")
    assert len(studio.tasks()) == 1
    studio.page.keyboard.press("Control+Enter")  # the same words once more are a second wish
    eventually(lambda: len(studio.tasks()) == 2)
    expect(studio.card("twice")).to_have_count(1)
    expect(studio.card("twice")).to_have_attribute("data-state", "success")

    sent: list[str | None] = []

    def lose_the_first(route: Route) -> None:
        if route.request.method == "POST":
            sent.append(route.request.headers.get("idempotency-key"))
            if len(sent) == 1:
                route.fetch()  # it arrives; the answer does not
                route.abort()
                return
        route.continue_()

    studio.page.route("**/v1/tasks", lose_the_first)
    studio.fill("lost and found")
    studio.develop.click()
    expect(studio.card("lost and found")).to_have_attribute("data-state", "success")
    assert len(sent) == 2
    assert sent[0] == sent[1]
    assert len(studio.tasks()) == 3
    studio.complaints.expect("ERR_FAILED")


def test_cancel_try_again_and_reuse(studio: Studio) -> None:
    page = studio.page
    studio.fill("to be stopped", seconds="30")
    studio.develop.click()
    card = studio.card("to be stopped")
    expect(card).to_have_attribute("data-state", "running")
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_have_attribute("data-state", "canceled")
    card.get_by_role("button", name="Reuse").click()
    expect(page.get_by_label("Seconds")).to_have_value("30")
    card.get_by_role("button", name="Try again").dblclick()
    expect(card).to_have_count(2)
    first = card.first
    expect(first).to_have_attribute("data-state", "running")
    first.get_by_role("button", name="Cancel").click()
    expect(first).to_have_attribute("data-state", "canceled")
    tasks = studio.tasks()
    assert [task["error"]["code"] for task in tasks] == ["canceled", "canceled"]
    assert tasks[0]["retry_of"] == tasks[1]["task_id"]


def test_a_canceled_card_of_several_pictures_shows_one_mark(studio: Studio) -> None:
    page = studio.page
    page.get_by_label("Generator").select_option("sketch")
    page.get_by_label("Prompt", exact=True).fill("four of the sea")
    page.get_by_label("More settings").or_(page.get_by_text("More settings")).first.click()
    page.locator('[name="f-n"][value="4"]').check(force=True)
    page.locator('[name="f-detail"][value="fine"]').check(force=True)
    studio.develop.click()
    card = studio.card("four of the sea")
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_have_attribute("data-state", "canceled")
    mark, print_ = card.locator(".tomb .icon").bounding_box(), card.locator(".print").bounding_box()
    assert mark is not None
    assert print_ is not None
    assert mark["x"] + mark["width"] / 2 == pytest.approx(print_["x"] + print_["width"] / 2, abs=1)
    assert mark["y"] + mark["height"] / 2 == pytest.approx(
        print_["y"] + print_["height"] / 2, abs=1
    )


def test_a_field_that_is_wrong_is_shown_whole(studio: Studio) -> None:
    page = studio.page
    page.set_viewport_size({"width": 1280, "height": 480})
    page.get_by_label("Generator").select_option("sketch")
    page.get_by_label("Prompt", exact=True).fill("too small")
    page.get_by_label("Custom").check(force=True)
    page.get_by_label("Height").fill("1")
    page.locator(".fields").evaluate("node => node.scrollTo(0, 0)")
    studio.develop.click()
    error = page.locator("#f-height-error")
    expect(error).to_be_visible()
    box, bar = error.bounding_box(), page.locator(".send").bounding_box()
    assert box is not None
    assert bar is not None
    assert box["y"] + box["height"] <= bar["y"]


def test_why_it_waits_and_what_went_wrong_is_said(studio: Studio) -> None:
    studio.fill("not today", "closed")
    expect(studio.page.locator(".problem")).to_contain_text("paused")
    studio.develop.click()
    expect(studio.card("not today")).to_contain_text("This generator is paused")
    studio.fill("never works", "broken")
    expect(studio.develop).not_to_have_attribute("aria-disabled", "true")
    studio.develop.click()
    failed = studio.card("never works")
    expect(failed).to_have_attribute("data-state", "failed")
    expect(failed).to_contain_text("Try again; if it happens again")
    expect(failed).not_to_contain_text("a secret detail")
    screenshots(studio.page, "failed")
    studio.page.goto(f"{studio.running.url}/tasks/{studio.tasks()[0]['task_id']}")
    expect(studio.page.locator(".history")).to_contain_text("Failed")
    screenshots(studio.page, "task-failed")


def test_refusals_are_shown_where_they_belong(studio: Studio) -> None:
    page = studio.page
    posts = [0]
    answers: list[tuple[int, dict[str, str], dict[str, Any]]] = [
        (429, {"Retry-After": "7500"}, {"code": "day_limit", "limit": {"size": 5, "used": 5}}),
        (429, {"Retry-After": "2"}, {"code": "submit_rate", "detail": "slow down"}),
        (422, {}, {"errors": [{"pointer": "/params/seconds", "detail": "Odd.", "code": "x"}]}),
    ]

    def refuse(route: Route) -> None:
        if route.request.method != "POST" or not answers:
            route.continue_()
            return
        posts[0] += 1
        status, headers, body = answers.pop(0)
        headers["Content-Type"] = "application/problem+json"
        route.fulfill(status=status, headers=headers, body=json.dumps(body))

    page.route("**/v1/tasks", refuse)
    studio.fill("", seconds="many")
    studio.develop.click()
    expect(page.get_by_text("Please fill this in.")).to_be_visible()
    expect(page.get_by_text("Please give a number.")).to_be_visible()
    expect(page.get_by_label("Prompt", exact=True)).to_be_focused()
    assert posts[0] == 0

    studio.fill("patience", seconds="0")
    studio.develop.click()
    expect(page.locator(".problem")).to_contain_text("You have used 5 of the 5 tasks of today")
    expect(page.locator(".problem")).to_contain_text(re.compile("Ready in 2 h [45] min"))
    expect(studio.develop).to_be_enabled()  # staff may raise a limit before that
    studio.develop.click()
    expect(page.locator(".problem")).to_contain_text(re.compile("Ready in [12] s"))
    expect(studio.develop).to_be_disabled()
    expect(studio.develop).to_be_enabled()
    studio.develop.click()
    expect(page.locator("#f-seconds-error")).to_have_text("Odd.")
    expect(page.get_by_label("Seconds")).to_be_focused()

    page.context.clear_cookies()
    page.get_by_label("Prompt", exact=True).fill("kept words")
    studio.develop.click()
    expect(page.locator(".problem")).to_contain_text("Your session has ended")
    page.get_by_role("link", name="Log in again").click()
    page.get_by_label("Username").fill(studio.running.user)
    page.get_by_label("Password").fill(studio.running.password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("kept words")
    studio.complaints.expect("429", "422", "401")


PAUSES: list[tuple[dict[str, int], float, float]] = [
    ({"hint": 4}, 4, 6),  # never earlier than the hint
    ({"hint": 0}, 1, 1.5),
    ({"hint": 15}, 15, 18),
    ({"hint": 40}, 15, 18),
    ({"hint": 40, "failures": 1}, 40, 43),  # a refusal's hint is kept
    ({"polls": 0}, 1, 2),
    ({"polls": 2}, 1, 8),
    ({"polls": 30}, 1, 15),
    ({"failures": 3}, 1, 15),
]


def _check_pauses(page: Page) -> None:
    for options, low, high in PAUSES:
        seconds = page.evaluate(
            """async (options) => {
              const { src } = document.querySelector("script[type=module]");
              const { delay } = await import(src.replace("studio.js", "poller.js"));
              const chances = [() => 0, () => 0.999999, Math.random];
              return chances.map((random) => delay({ ...options, random }));
            }""",
            options,
        )
        assert seconds[0] == pytest.approx(low, abs=0.001), options
        assert seconds[1] == pytest.approx(high, abs=0.001), options
        assert low <= seconds[2] <= high, options


def _check_times(page: Page) -> None:
    said = page.evaluate(
        """async (times) => {
          const { src } = document.querySelector("script[type=module]");
          const { duration } = await import(src.replace("studio.js", "i18n.js"));
          return times.map(duration);
        }""",
        [0, 59, 60, 80, 3600, 7500, 86_400, 12 * 86_400, 12 * 86_400 + 3 * 3600],
    )
    first = ["0 s", "59 s", "1 min", "1 min 20 s"]
    assert said == [*first, "1 h", "2 h 5 min", "24 h", "12 d", "12 d 3 h"]


def test_polling_is_one_request_and_rests_when_nobody_looks(studio: Studio) -> None:
    page = studio.page
    for name in ("one", "two"):
        studio.fill(f"watched {name}", "closed")
        studio.develop.click()
        expect(studio.card(f"watched {name}")).to_contain_text("paused")
        expect(studio.develop).not_to_have_attribute("aria-disabled", "true")
    _look_away(page, hidden=False)
    page.wait_for_timeout(1_500)
    assert len(studio.polls()[-1]) == 2
    _look_away(page, hidden=True)
    page.wait_for_timeout(500)
    before = len(studio.requests)
    page.wait_for_timeout(4_000)
    assert len(studio.requests) == before
    with page.expect_request(re.compile(r"/v1/tasks\?ids="), timeout=1_000):
        _look_away(page, hidden=False)
    for name in ("one", "two"):
        studio.card(f"watched {name}").get_by_role("button", name="Cancel").click()
        expect(studio.card(f"watched {name}")).to_have_attribute("data-state", "canceled")
    page.wait_for_timeout(500)
    before = len(studio.polls())
    page.wait_for_timeout(4_000)
    assert len(studio.polls()) == before  # all have ended: nothing to ask
    _check_pauses(page)
    _check_times(page)


def test_pages_fit_small_screens_and_keep_the_chosen_light(studio: Studio) -> None:
    page, url = studio.page, studio.running.url
    studio.fill("a" * 300, seconds="0")  # one long word
    studio.develop.click()
    expect(studio.card("aaa")).to_have_attribute("data-state", "success")
    task = studio.tasks()[0]["task_id"]
    for width in (320, 375, 768, 1280, 1900):
        page.set_viewport_size({"width": width, "height": 700})
        for path in ("/", f"/tasks/{task}", "/nothing-here"):
            page.goto(f"{url}{path}")
            page.wait_for_load_state("load")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
    studio.complaints.expect("404")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.goto(f"{url}/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_hostile_prompts_are_words_and_bob_gets_404(studio: Studio) -> None:
    page = studio.page
    prompt = "<img src=x onerror=alert(1)></script><b>bold</b> {{ 7*7 }}"
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    studio.fill(prompt)
    studio.develop.click()
    card = studio.card("onerror")
    expect(card).to_have_attribute("data-state", "success")
    expect(card.get_by_role("link").first).to_have_text(prompt)
    page.reload()
    expect(studio.tile("onerror").locator(".snippet")).to_have_text(prompt)
    studio.tile("onerror").get_by_role("link").click()
    expect(page.locator(".full-prompt")).to_have_text(prompt)

    address = page.url
    other = new_context(studio.browser).new_page()
    log_in(other, studio.running.url, "bob", "bob-password")
    answer = other.goto(address)
    assert answer is not None
    assert answer.status == 404
    expect(other.get_by_text("Nothing on this print")).to_be_visible()
    picture = other.request.get(studio.tasks()[0]["result"]["artifacts"][0]["url"])
    assert picture.status == 404


def _look_away(page: Page, *, hidden: bool) -> None:
    """Make the page believe that its tab is in the background, or in front."""
    page.evaluate(
        """(hidden) => {
          Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )
