"""The staff's pages in a real browser: they work, and nothing complains. Wide, narrow, dark."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from django.db import connection
from playwright.sync_api import Browser, Page, expect

from tasks_app.core import cancellation
from tasks_app.models import Generator, Task
from tests import scenes
from tests.acceptance.browser import NARROW, WIDE, Complaints, chromium, new_context, screenshots
from tests.acceptance.conftest import Running
from tests.conftest import make_user

T = TypeVar("T")


@pytest.fixture
def root(running: Running) -> str:
    """Make a member of the staff who may do everything."""
    user: Any = make_user("root")
    user.is_staff = user.is_superuser = True
    user.save()
    return "root"


@pytest.fixture
def browser(root: str) -> Iterator[Browser]:
    """Start a browser, after everything that is asked of the database in this thread.

    Playwright keeps an event loop in it from now on, beside which the ORM refuses to work.
    """
    with chromium() as one:
        yield one


def ask(question: Callable[[], T]) -> T:
    """Ask the database in another thread."""

    def asked() -> T:
        try:
            return question()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asked).result()


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    found = Complaints()
    yield found
    assert found.lines == []


@pytest.fixture
def staff_page(
    running: Running, browser: Browser, complaints: Complaints
) -> Iterator[Callable[..., Page]]:
    """Return a function that opens the staff's pages as ``root``."""
    contexts = []

    def open_page(**options: Any) -> Page:
        contexts.append(new_context(browser, **options))
        page = contexts[-1].new_page()
        page.emulate_media(reduced_motion="reduce")
        complaints.watch(page)
        page.goto(f"{running.url}/admin/login/?next=/admin/")
        page.locator("input[name=username]").fill("root")
        page.locator("input[name=password]").fill("root-password")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Slots").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def history(running: Running) -> list[Task]:
    """Return some tasks of several kinds: drawn, canceled, waiting."""
    sketch = Generator.objects.get(name="sketch")
    drawn = [
        scenes.submit(running.account, sketch, f"a red boat, number {n}", width=256, height=256)
        for n in range(2)
    ]
    scenes.wait_until_ended(2)
    Generator.objects.update(paused=True)
    waiting = [scenes.submit(running.account, sketch, f"waiting {n}") for n in range(3)]
    cancellation.cancel(waiting[0], running.account.pk)
    return [Task.objects.get(pk=pk) for pk in (*drawn, *waiting)]


def test_staff_look_and_act(
    running: Running, history: list[Task], staff_page: Callable[..., Page]
) -> None:
    page = staff_page()
    expect(page.locator(".plot")).to_have_count(4)
    expect(page.locator(".tile.pending strong")).to_have_text("2")
    screenshots(page, "admin-dashboard")

    page.goto(f"{running.url}/admin/tasks_app/task/")
    expect(page.locator("#result_list tbody tr")).to_have_count(5)
    screenshots(page, "admin-tasks")
    page.locator("input[name=q]").fill("demo")
    page.locator("input[name=q]").press("Enter")
    page.wait_for_url("**q=demo**")
    expect(page.locator("#result_list tbody tr")).to_have_count(5)

    page.goto(f"{running.url}/admin/tasks_app/task/{history[0].pk}/change/")
    picture = page.locator(".pictures img").first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    expect(page.locator(".timeline li")).to_have_count(3)
    screenshots(page, "admin-task")

    page.goto(f"{running.url}/admin/tasks_app/task/{history[3].pk}/change/")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancel: 1 done, 0 skipped.")).to_be_visible()
    assert ask(lambda: scenes.state_of(history[3].pk)) == "failed/canceled"
    page.get_by_role("button", name="Retry as a new task").click()
    expect(page.get_by_text("1 done, 0 skipped.")).to_be_visible()


def test_the_list_of_actions_works_with_its_scripts(
    running: Running, history: list[Task], staff_page: Callable[..., Page]
) -> None:
    page = staff_page()
    page.goto(f"{running.url}/admin/tasks_app/task/?state=pending")
    expect(page.locator("#result_list tbody tr")).to_have_count(2)
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").first.select_option("cancel_tasks")
    page.locator("button[name=index]").first.click()
    expect(page.get_by_text("Cancel: 2 done, 0 skipped.")).to_be_visible()


def test_staff_change_their_language_where_they_are(
    running: Running, history: list[Task], staff_page: Callable[..., Page]
) -> None:
    page = staff_page()
    page.goto(f"{running.url}/admin/tasks_app/task/?state=pending")
    page.get_by_text("unfold_more").click()
    page.get_by_role("button", name="简体中文").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(2)
    assert page.url.endswith("/admin/tasks_app/task/?state=pending")
    page.locator("#action-toggle").check()
    screenshots(page, "admin-tasks-zh")
    page.locator("select[name=action]").first.select_option("cancel_tasks")
    page.get_by_role("button", name="执行").click()
    expect(page.get_by_text("取消：完成 2 项，跳过 0 项。")).to_be_visible()
    page.goto(f"{running.url}/admin/")
    expect(page.locator(".recent li")).to_have_count(2)
    screenshots(page, "admin-dashboard-zh")


def test_a_generator_is_paused_and_its_form_tells_what_it_takes(
    running: Running, staff_page: Callable[..., Page]
) -> None:
    page = staff_page()
    sketch = ask(lambda: Generator.objects.get(name="sketch"))
    page.goto(f"{running.url}/admin/tasks_app/generator/")
    screenshots(page, "admin-generators")
    page.goto(f"{running.url}/admin/tasks_app/generator/{sketch.pk}/change/")
    expect(page.get_by_text("package.module:function")).to_be_visible()
    screenshots(page, "admin-generator")
    page.locator("input[name=paused]").check()
    page.locator("button[name=_save]").first.click()
    page.wait_for_url("**/admin/tasks_app/generator/")
    assert ask(lambda: Generator.objects.get(pk=sketch.pk).paused)


@pytest.mark.parametrize("path", ["user", "account", "apikey", "plan", "event"])
def test_other_pages_complain_about_nothing(
    running: Running, history: list[Task], staff_page: Callable[..., Page], path: str
) -> None:
    page = staff_page()
    app = "auth" if path == "user" else "tasks_app"
    page.goto(f"{running.url}/admin/{app}/{path}/")
    page.locator("#result_list").wait_for()
    screenshots(page, f"admin-{path}")
    page.locator("#result_list tbody th a, #result_list tbody td a").first.click()
    page.wait_for_load_state()
    screenshots(page, f"admin-{path}-form")


LONG = "a-name-that-is-as-long-as-names-may-be." + "x" * 24

_CUT = """() => [...document.querySelectorAll(".panel, .plot dt, .readonly, .tile, dd")].filter(
  (one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML)"""
"""What does not fit in its place."""


@pytest.fixture
def long_names(running: Running, history: list[Task]) -> Task:
    """Return a waiting task of which everything is long."""
    user = make_user("somebody.with.a.long.name@department.example.com" + "y" * 60)
    generator = Generator.objects.get(name="sketch")
    Generator.objects.filter(pk=generator.pk).update(name=LONG, pool=LONG)
    generator.refresh_from_db()
    pk = scenes.submit(user, generator, "W" * 900 + " and more words" * 40)
    Task.objects.filter(pk=pk).update(request_id="r" * 64)
    return Task.objects.get(pk=pk)


def test_long_names_keep_to_their_place(
    running: Running, long_names: Task, staff_page: Callable[..., Page]
) -> None:
    page = staff_page()
    for viewport in (WIDE, NARROW):
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        for path in ("", "tasks_app/task/", f"tasks_app/task/{long_names.pk}/change/"):
            page.goto(f"{running.url}/admin/{path}")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
            assert page.evaluate(_CUT) == [], path
    expect(page.locator(".standing .bad").first).to_contain_text("paused")


def test_narrow_pages_do_not_scroll_sideways(
    running: Running, history: list[Task], staff_page: Callable[..., Page]
) -> None:
    page = staff_page(viewport=NARROW, color_scheme="light")
    for path in ("", "tasks_app/task/", f"tasks_app/task/{history[0].pk}/change/"):
        page.goto(f"{running.url}/admin/{path}")
        page.wait_for_load_state("networkidle")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
        screenshots(page, f"admin-light-{path.count('/')}")
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
