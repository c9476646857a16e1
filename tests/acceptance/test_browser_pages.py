"""Gallery, task page, keys, account and news in a real browser, in both languages."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from standardwebhooks import Webhook

from tests.acceptance.browser import NARROW, new_context, screenshots
from tests.acceptance.house import OLDER, PICTURES, House, Reader
from tests.acceptance.house import reader as new_reader
from tests.receivers import good, receiver

# The mark makes the test database; what the tests see was committed before they began.
pytestmark = [pytest.mark.timeout(300), pytest.mark.django_db]

expect.set_options(timeout=20_000)

ALL = OLDER + len(PICTURES)
BOTH = pytest.mark.parametrize("language", ["en", "zh"])


@pytest.fixture
def visit(house: House, browser: Browser) -> Iterator[Callable[..., Reader]]:
    """Return a function that lets somebody in; nothing may complain in the end."""
    readers: list[Reader] = []

    def enter(user: str, language: str = "en", **options: Any) -> Reader:
        one = new_reader(house, browser, language, **options)
        readers.append(one)
        one.log_in(user)
        return one

    yield enter
    for one in readers:
        assert one.complaints.lines == []
        one.page.context.close()


def tiles(page: Page) -> Any:
    return page.locator(".tile")


@BOTH
def test_the_gallery_pages_searches_and_goes_back(
    visit: Callable[..., Reader], language: str
) -> None:
    ada = visit("ada", language)
    page = ada.page
    page.add_init_script(_WATCH_SHIFTS)
    ada.link("Gallery").first.click()
    expect(page).to_have_title(f"{ada.say('Gallery')} · Darkroom")
    expect(page.get_by_role("heading", name=ada.say("Today"))).to_be_visible()
    expect(tiles(page)).to_have_count(48)
    expect(tiles(page).locator("img").first).to_have_js_property("complete", True)
    assert page.evaluate("window.shifts") < 0.01
    more = page.locator("#more")
    plain = more.get_attribute("href")
    more.click()
    expect(tiles(page)).to_have_count(ALL)
    expect(more).to_be_hidden()

    page.locator(".tile").last.scroll_into_view_if_needed()
    top = page.evaluate("scrollY")
    page.locator(".tile a").last.click()
    expect(page.locator(".full-prompt")).to_have_text("雨夜的城市，霓虹灯 1")
    page.go_back()
    expect(tiles(page)).to_have_count(ALL)
    page.wait_for_function("(top) => Math.abs(scrollY - top) < 300", arg=top)

    page.get_by_label(ada.say("State")).select_option("canceled")
    page.wait_for_url(re.compile(r"/gallery\?state=canceled$"))
    expect(tiles(page)).to_have_count(48)
    page.locator("#more").click()
    expect(tiles(page)).to_have_count(OLDER)
    page.get_by_label(ada.say("State")).select_option("success")
    page.wait_for_url(re.compile(r"/gallery\?state=success$"))
    expect(tiles(page)).to_have_count(len(PICTURES))
    page.get_by_label(ada.say("Words in the prompt")).fill("霓虹")
    page.keyboard.press("Enter")
    expect(tiles(page)).to_have_count(1)
    expect(tiles(page)).to_contain_text(PICTURES[1][0])
    assert "q=%E9%9C%93%E8%99%B9" in page.url
    page.go_back()
    expect(tiles(page)).to_have_count(len(PICTURES))
    expect(page.get_by_label(ada.say("State"))).to_have_value("success")
    page.get_by_label(ada.say("From")).fill("2031-01-01")
    ada.button("Search").click()
    expect(page.get_by_text(ada.say("Nothing like that here"))).to_be_visible()
    assert re.search(r"from=2031-01-01&zone=\w+", page.url)
    screenshots(page, f"gallery-nothing-{language}")
    ada.link("Show all").first.click()
    expect(page).to_have_url(re.compile(r"/gallery$"))

    assert plain is not None
    ada.go(plain)  # as a link like any other
    expect(tiles(page)).to_have_count(ALL - 48)
    ada.link("Back to the newest").click()
    expect(tiles(page)).to_have_count(48)
    screenshots(page, f"gallery-{language}")


_WATCH_SHIFTS = """
  window.shifts = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => {
    if (!one.hadRecentInput) window.shifts += one.value;
  })).observe({ type: "layout-shift", buffered: true });
"""


def test_a_live_task_develops_in_the_gallery(visit: Callable[..., Reader], house: House) -> None:
    cleo = visit("cleo")
    task_id = house.make("seen from the gallery", "cleo", seconds=2)
    cleo.go("/gallery")
    tile = cleo.page.locator(f'[data-task="{task_id}"]')
    expect(tile).to_have_attribute("data-state", re.compile("pending|running"))
    # What an earlier test left running has the only worker until then.
    expect(tile).to_have_attribute("data-state", "success", timeout=90_000)
    expect(tile.locator("img")).to_be_visible()


@BOTH
def test_a_task_page_walks_saves_and_copies(
    visit: Callable[..., Reader], house: House, language: str
) -> None:
    ada = visit("ada", language)
    page = ada.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pair = house.find(q=PICTURES[0][0])[0]
    ada.go(f"/tasks/{pair['task_id']}")
    expect(page.locator("figure img")).to_have_count(2)
    expect(page.locator(".params")).to_contain_text(ada.say("Let the words decide"))
    expect(page.locator(".history")).to_contain_text(ada.say("Taken by a worker"))
    expect(page.locator(".history")).to_contain_text(ada.say("{count} pictures", count=2))
    names = []
    page.on("download", lambda one: names.append(one.suggested_filename))
    with page.expect_download():
        ada.button("Download all").click()
    _until(page, lambda: len(names) == 2)
    assert len(set(names)) == 2

    ada.button("Copy as curl").click()
    expect(page.get_by_role("button", name=ada.say("Copied"))).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"curl '{house.url}/v1/tasks'")
    assert PICTURES[0][0] in copied
    first, second = (_run(copied, house.keys["finn"]) for _ in range(2))
    assert first["task_id"] == second["task_id"]  # its key is in it
    assert (first["params"]["prompt"], second["reused"]) == (PICTURES[0][0], True)
    with house.api("finn") as client:
        client.delete(f"/v1/tasks/{first['task_id']}")

    for place in (0, 1):
        page.keyboard.press("ArrowRight")
        expect(page.locator("figure").nth(place)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("figure").first).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".full-prompt")).not_to_have_text(PICTURES[0][0])
    page.keyboard.press("ArrowRight")
    expect(page.locator(".full-prompt")).to_have_text(PICTURES[0][0])
    screenshots(page, f"task-{language}")

    ada.link("Reuse").click()
    expect(page.get_by_label(ada.say("Prompt"), exact=True)).to_have_value(PICTURES[0][0])
    screenshots(page, f"studio-{language}")


def _run(command: str, key: str) -> dict[str, Any]:
    """Run what was copied in a bare shell."""
    environment = {"PATH": "/usr/bin:/bin", "DARKROOM_API_KEY": key}
    shell = ["/bin/sh", "-c", command]
    done = subprocess.run(shell, env=environment, check=True, capture_output=True, timeout=30)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@BOTH
def test_what_went_wrong_and_what_to_do_is_said_in_words(
    visit: Callable[..., Reader], house: House, language: str
) -> None:
    bob = visit("bob", language)
    task_id = house.make("never works", "bob", "broken")
    house.ended(task_id, "bob")
    bob.go(f"/tasks/{task_id}")
    facts = bob.page.locator(".status")
    expect(facts).to_contain_text(bob.say("Something went wrong inside the service."))
    expect(facts).to_contain_text(
        bob.say(
            "Try again; if it happens again, tell those who run this service, "
            "with the id of the task."
        )
    )
    expect(bob.page.locator(".history li")).to_have_count(3)
    expect(bob.page.locator(".tries")).to_be_hidden()  # there was only one
    screenshots(bob.page, f"task-failed-{language}")


ATTEMPTS = """async () => {
  const { attemptsOf } = await import(
    document.querySelector("script[type=module]").src.replace("task.js", "words.js"));
  const at = (second) => `2026-01-01T00:00:0${second}.000Z`;
  return attemptsOf([
    { kind: "submitted", attempt: 0, at: at(0) },
    { kind: "claimed", attempt: 1, at: at(1) },
    { kind: "requeued", attempt: 1, at: at(3), data: { reason: "worker lost" } },
    { kind: "attempt_ended", attempt: 1, at: at(4) },
    { kind: "claimed", attempt: 2, at: at(5) },
  ]);
}"""


def test_attempts_are_told_from_the_history(visit: Callable[..., Reader], house: House) -> None:
    ada = visit("ada")
    ada.go(f"/tasks/{house.find(q=PICTURES[2][0])[0]['task_id']}")
    first, second = ada.page.evaluate(ATTEMPTS)
    assert (first["began"][-7:-1], first["ended"][-7:-1]) == ("01.000", "03.000")
    assert (first["how"], first["detail"]) == (
        "Back in line",
        "the worker gave no sign of life any more",
    )
    assert (second["number"], second["ended"]) == (2, None)


class LosesAnswers:
    """Lets the first request through and loses its answer; later ones do not get far."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        key = route.request.headers["idempotency-key"]
        if not self.keys:
            route.fetch()
        self.keys.append(key)
        route.abort()


def test_a_lost_answer_and_a_reload_are_one_new_task(
    visit: Callable[..., Reader], house: House
) -> None:
    dora = visit("dora")
    page = dora.page
    first = house.make("to be tried again", "dora", seconds=30)
    with house.api("dora") as client:
        client.delete(f"/v1/tasks/{first}")
    house.ended(first, "dora")
    dora.go(f"/tasks/{first}")
    loses = LosesAnswers()
    page.route("**/retry", loses)
    page.get_by_role("button", name="Try again").click()
    _until(page, lambda: bool(loses.keys))
    page.reload()
    page.unroute("**/retry")
    with page.expect_request("**/retry") as again:
        page.get_by_role("button", name="Try again").click()
    page.wait_for_url(lambda url: first not in url)
    assert again.value.headers["idempotency-key"] == loses.keys[0]
    assert len(house.find("dora")) == 2

    dora.go("/")
    loses = LosesAnswers()
    page.route("**/v1/tasks", loses)
    page.get_by_label("Generator").select_option("sleeper")
    page.get_by_label("Prompt", exact=True).fill("written once")
    page.keyboard.press("Control+Enter")
    _until(page, lambda: bool(loses.keys))
    page.reload()
    page.unroute("**/v1/tasks")
    expect(page.locator(".problem")).to_contain_text("has had no answer yet")
    with page.expect_request(lambda one: one.method == "POST" and "/v1/tasks" in one.url) as again:
        page.locator("#compose button[type=submit]").click()
    expect(page.locator(".card").filter(has_text="written once")).to_have_count(1)
    assert again.value.headers["idempotency-key"] == loses.keys[0]
    assert len(house.find("dora", q="written once")) == 1
    dora.complaints.expect("ERR_FAILED")


def _until(page: Page, so: Callable[[], bool]) -> None:
    """Let the browser go on until it is so."""
    for _ in range(200):
        if so():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen")


@BOTH
def test_a_key_is_made_copied_and_revoked(
    visit: Callable[..., Reader], house: House, browser: Browser, language: str
) -> None:
    cleo = visit("cleo", language)
    page = cleo.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("link", name="cleo").click()
    screenshots(page, f"account-{language}")
    cleo.link("Look after keys").click()
    name = f"robot {language}"
    page.get_by_label(cleo.say("What is it for?")).fill(name)
    cleo.button("Make it").dblclick()
    secret = page.locator("#secret").input_value()
    assert secret.startswith("dk_")
    cleo.button("Copy").click()
    expect(page.get_by_role("button", name=cleo.say("Copied"))).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    screenshots(page, f"keys-new-{language}")
    with house.service.client(secret) as client:
        assert client.get("/v1/account").json()["user"] == "cleo"
    page.reload()
    expect(page.locator("#secret")).to_have_count(0)
    row = page.locator(".key").filter(has_text=name)
    expect(row).to_have_count(1)

    row.get_by_role("link").click()
    address = page.url
    screenshots(page, f"revoke-{language}")
    bob = visit("bob", language)
    answer = bob.page.goto(address)
    assert answer is not None
    assert answer.status == 404
    expect(bob.page.get_by_text(bob.say("Nothing on this print"))).to_be_visible()
    bob.complaints.expect("404")
    cleo.button("Revoke").click()
    expect(page.get_by_role("status").first).to_contain_text(
        cleo.say("The key is revoked: nobody gets in with it any more.")
    )
    expect(row).to_have_attribute("data-revoked", "true")
    screenshots(page, f"keys-{language}")
    with house.service.client(secret) as client:
        _until(page, lambda: client.get("/v1/account").status_code == 401)


@BOTH
def test_callbacks_are_set_up_tried_and_read(
    visit: Callable[..., Reader], house: House, language: str
) -> None:
    ivy = visit(next(house.guests), language)
    page = ivy.page
    ivy.go("/account")
    ivy.link("Look after callbacks").click()

    page.get_by_label(ivy.say("Default address")).fill("ftp://example.com/hook")
    ivy.button("Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    ivy.complaints.expect("422")
    ivy.button("Make a new secret").click()
    secret = page.locator("#secret").input_value()
    assert secret.startswith("whsec_")
    screenshots(page, f"callbacks-secret-{language}")

    with receiver(good) as server:
        page.get_by_label(ivy.say("Default address")).fill(server.url())
        ivy.button("Save").click()
        expect(page.get_by_role("status").first).to_contain_text(
            ivy.say("Saved: tasks that name no address tell this one.")
        )
        assert page.locator("#secret").count() == 0, "it is shown once"
        ivy.button("Send a test").click()
        # Without a hand of ours: the page looks again until the outcome is there.
        expect(page.locator("h1 .state")).to_have_text(ivy.say("delivered"))
        expect(page.locator(".log li")).to_have_count(1)
        screenshots(page, f"callback-{language}")
        [got] = server.received
        Webhook(secret).verify(got.body, got.headers)
        expect(page.get_by_text(got.headers["webhook-id"]).first).to_be_visible()
        address = page.url

        ivy.button("Deliver again").click()
        _until(page, lambda: len(server.received) == 2)
        assert server.received[1].body == got.body

    bob = visit("bob", language)
    answer = bob.page.goto(address)
    assert answer is not None
    assert answer.status == 404
    bob.complaints.expect("404")
    ivy.go("/callbacks")
    expect(page.locator(".told li")).to_have_count(1)
    screenshots(page, f"callbacks-{language}")


def test_a_new_password_logs_out_everywhere_else(visit: Callable[..., Reader]) -> None:
    here, elsewhere = visit("finn", "zh"), visit("finn")
    page = here.page
    here.go("/account/password")
    for name, value in (("old_password", "wrong"), ("new_password1", "develop in the dark 7")):
        page.locator(f"#id_{name}").fill(value)
    page.locator("#id_new_password2").fill("develop in the dark 7")
    here.button("Change the password").click()
    expect(page.locator("#old-error")).to_be_visible()
    screenshots(page, "password-zh")
    for name in ("old_password", "new_password1", "new_password2"):
        old = name == "old_password"
        page.locator(f"#id_{name}").fill("finn-password" if old else "develop in the dark 7")
    here.button("Change the password").click()
    expect(page.locator(".said")).to_contain_text("密码已修改")
    here.go("/gallery")
    expect(page.locator("#finder")).to_be_visible()
    elsewhere.go("/gallery")
    expect(elsewhere.page.locator("#id_password")).to_be_visible()


def test_what_ends_while_one_is_away_is_counted_until_one_looks(
    visit: Callable[..., Reader], house: House
) -> None:
    bob = visit("bob")
    page = bob.page
    with page.expect_response("**/seen"):
        bob.go("/")
    bob.go("/account")
    expect(page).to_have_title("Account · Darkroom")
    for number in (1, 2):
        house.ended(house.make(f"away {number}", "bob"), "bob")
    page.reload()
    expect(page).to_have_title("(2) Account · Darkroom")
    expect(page.locator("#news")).to_contain_text("2")
    screenshots(page, "news")
    with page.expect_response("**/seen"):
        page.locator("nav").get_by_role("link", name="Gallery").click()
    expect(page).to_have_title("Gallery · Darkroom")
    expect(page.locator("#news")).to_be_hidden()
    expect(page.locator('.tile[data-news="true"]')).to_have_count(2)
    bob.go("/account")
    expect(page).to_have_title("Account · Darkroom")


def test_a_window_that_nobody_looks_at_counts_from_its_polls(
    visit: Callable[..., Reader], house: House
) -> None:
    cleo = visit("cleo")
    page = cleo.page
    house.make("looked away", "cleo", seconds=1)
    _focus(page, there=False)
    cleo.go("/")
    expect(page).to_have_title("(1) Studio · Darkroom")
    expect(page.locator("#news")).to_contain_text("1")
    with page.expect_response("**/seen"):
        _focus(page, there=True)
    expect(page).to_have_title("Studio · Darkroom")
    cleo.go("/keys")
    expect(page).to_have_title("API keys · Darkroom")


def _focus(page: Page, *, there: bool) -> None:
    """Make this and later documents of the page believe that they have the focus, or not."""
    script = f"Document.prototype.hasFocus = () => {str(there).lower()};"
    page.add_init_script(script)
    page.evaluate(f"{script} dispatchEvent(new Event({'focus' if there else 'blur'!r}));")


def test_the_language_is_switched_in_place_and_kept(visit: Callable[..., Reader]) -> None:
    ada = visit("ada")
    page = ada.page
    ada.go("/gallery?state=success")
    page.get_by_role("button", name="简体中文").click()
    expect(page).to_have_url(re.compile(r"/gallery\?state=success$"))
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.get_by_role("heading", name="画廊")).to_be_visible()
    expect(tiles(page).first).to_contain_text("已完成")
    ada.go("/")
    expect(page.locator("#compose button[type=submit]")).to_contain_text("显影")
    expect(page.get_by_label("画面描述", exact=True)).to_be_visible()
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


@BOTH
def test_bob_sees_nothing_of_ada(visit: Callable[..., Reader], house: House, language: str) -> None:
    task = house.find(q=PICTURES[0][0])[0]
    bob = visit("bob", language)
    page = bob.page
    answer = page.goto(f"{house.url}/tasks/{task['task_id']}")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text(bob.say("Nothing on this print"))).to_be_visible()
    screenshots(page, f"404-{language}")
    for artifact in task["result"]["artifacts"]:
        for url in (artifact["url"], artifact["thumbnail_url"]):
            assert page.request.get(url).status == 404
    bob.complaints.expect("404")
    bob.go("/gallery?q=lighthouse")
    expect(page.get_by_text(bob.say("Nothing like that here"))).to_be_visible()


def test_an_empty_studio_does_not_scroll(visit: Callable[..., Reader]) -> None:
    gwen = visit("gwen")
    page = gwen.page
    gwen.go("/")
    expect(page.locator("#compose")).to_be_visible()
    for width, height in ((1440, 900), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollHeight") == height, (width, height)
        gwen.link("API reference").click(trial=True)  # nothing lies on it


@BOTH
def test_pages_fit_every_width(visit: Callable[..., Reader], house: House, language: str) -> None:
    ada = visit("ada", language)
    page = ada.page
    task = house.find(q=PICTURES[0][0])[0]["task_id"]
    paths = ("/", "/gallery", "/keys", "/account", "/account/password", "/callbacks")
    for path in (*paths, f"/tasks/{task}"):
        ada.go(path)
        for width in (320, 375, 768, 1280, 1900):
            page.set_viewport_size({"width": width, "height": 700})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_without_scripts_forms_work_all_the_same(house: House, browser: Browser) -> None:
    context = new_context(browser, java_script_enabled=False, viewport=NARROW)
    page = context.new_page()
    page.goto(f"{house.url}/keys")
    page.locator("#id_username").fill("bob")
    page.locator("#id_password").fill("bob-password")
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("What is it for?").fill("no scripts")
    page.get_by_role("button", name="Make it").click()
    assert page.locator("#secret").input_value().startswith("dk_")
    row = page.locator(".key").filter(has_text="no scripts")
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(row).to_have_attribute("data-revoked", "true")
    page.get_by_role("button", name="简体中文").click()
    expect(page.get_by_role("heading", name="API 密钥")).to_be_visible()
    context.close()
