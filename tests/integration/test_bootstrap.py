"""What a first start makes, and what a later one adds and leaves alone."""

import stat
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command

from tasks_app.models import Generator, Shipped

pytestmark = pytest.mark.django_db

OURS = {"sketch", "sketch-video"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "first-run.env"


def start(file: Path, port: int = 8000) -> None:
    call_command("bootstrap", env_file=file, url=f"http://127.0.0.1:{port}", verbosity=0)


def offered() -> set[str]:
    return set(Generator.objects.filter(enabled=True).values_list("name", flat=True))


def values(file: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in file.read_text().splitlines())
    return {name: value for name, _, value in pairs}


def test_a_first_start_makes_users_a_key_and_all_generators(file: Path) -> None:
    start(file)
    assert offered() == OURS
    names = get_user_model().objects.values_list("username", "is_superuser")
    assert set(names) == {("admin", True), ("demo", False)}
    assert values(file)["DARKROOM_API_KEY"].startswith("dk_")


def test_what_staff_took_off_the_offer_stays_away(file: Path) -> None:
    start(file)
    Generator.objects.filter(name="sketch-video").delete()
    Generator.objects.filter(name="sketch").update(enabled=False)
    start(file)
    assert offered() == set()
    assert Generator.objects.count() == 1


def test_a_generator_that_is_new_is_offered_once(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(file)
    Generator.objects.filter(name="sketch-video").delete()
    Shipped.objects.filter(name="sketch-video").delete()  # as a release before it left things
    start(file)
    assert offered() == OURS
    assert "offered: sketch-video" in capsys.readouterr().out
    start(file)
    assert capsys.readouterr().out == ""


def test_addresses_follow_and_all_else_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://here")
    start(file)
    before = values(file)
    with file.open("a") as more:
        more.write("# mine\nOTHER='a b'\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://moved?host=/a b")
    start(file, 9000)
    after = values(file)
    moved = {
        "DARKROOM_URL": "http://127.0.0.1:9000",
        "DATABASE_URL": "'postgresql://moved?host=/a b'",
    }
    assert after == before | moved | {"# mine": "", "OTHER": "'a b'"}
    assert list(after)[: len(before)] == list(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_was_put_away_is_not_made_again(file: Path) -> None:
    start(file)
    file.unlink()
    start(file)
    assert not file.exists()


@pytest.mark.parametrize(
    ("there", "users", "known"),
    [
        ({"sketch"}, True, {"sketch"}),  # from before there were videos: they are offered
        (OURS, True, OURS),
        ({"own"}, True, {"sketch"}),  # staff deleted it
        (set(), False, set()),
    ],
)
def test_the_migration_remembers_what_was_offered(
    there: set[str], users: bool, known: set[str]
) -> None:
    for name in there:
        Generator.objects.create(name=name, title=name, adapter="sketch")
    if users:
        get_user_model().objects.create_user("ada")
    remember: Any = import_module("tasks_app.migrations.0015_shipped").remember
    remember(apps, None)
    assert set(Shipped.objects.values_list("name", flat=True)) == known
