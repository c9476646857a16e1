"""Test connection, in command and admin, and generators as a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from tasks_app.core import generators_file
from tasks_app.models import Generator
from tests.conftest import make_generator
from tests.integration.core.remote.conftest import make_remote
from tests.processes import free_port
from tests.upstreams.replicate import TOKEN, Replicate

pytestmark = pytest.mark.django_db

FILE = """
[generators.flux]
title = "Flux"
adapter = "replicate"
max_running = 50
fallback = "other"
settings = {model = "black-forest-labs/flux-schnell", credential = "env:UPSTREAM_TOKEN"}

[generators.other]
title = "Another"
adapter = "sketch"
paused = true
"""


def test_what_is_seen_of_upstreams(
    upstream: Replicate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_remote(upstream, "far")
    make_generator("near")
    call_command("check_upstreams")
    said = capsys.readouterr().out
    assert "ok  far: It accepts us as ada." in said
    assert "ok  near: It works here" in said
    make_remote(upstream, "gone", settings={"base_url": f"http://127.0.0.1:{free_port()}"})
    monkeypatch.setenv("UPSTREAM_WRONG", "r8_wrong")
    make_remote(upstream, "wrong", settings={"credential": "env:UPSTREAM_WRONG"})
    make_remote(upstream, "none", settings={"credential": "env:UPSTREAM_NONE"})
    with pytest.raises(CommandError):
        call_command("check_upstreams")
    said = capsys.readouterr().out
    assert "BAD gone: The model service could not be connected to." in said
    assert "BAD wrong: The model service does not accept us (HTTP 401)." in said
    assert "BAD none: env:UPSTREAM_NONE is not set here." in said
    assert TOKEN not in said and "r8_wrong" not in said
    assert upstream.count("create") == 0


def test_staff_see_it_in_the_admin(upstream: Replicate) -> None:
    generator = make_remote(upstream, "far")
    boss = get_user_model().objects.create_superuser("boss", password="x")
    staff = Client()
    staff.force_login(boss)
    form = {"action": "test_connection", "_selected_action": [str(generator.pk)]}
    page = staff.post("/admin/tasks_app/generator/", form, follow=True)
    assert "far: It accepts us as ada." in page.content.decode()
    assert TOKEN not in page.content.decode()


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"credential": TOKEN}, "not hold it"),
        ({"credential": "env:"}, "not hold it"),
        ({"credential": None}, "credential"),
        ({"base_url": "ftp://x"}, "http"),
        ({"base_url": "http://u:p@x"}, "password"),
        ({"base_url": "http://x/?a=b"}, "path"),
        ({"version": "a", "model": "b/c"}, "exactly one"),
        ({"webhooks": True}, "webhook_secret"),
        ({"webhooks": "yes"}, "true or false"),
        ({"poll_cap": 0}, "poll_cap"),
        ({"poll_growth": "fast"}, "poll_growth"),
        ({"token": "x"}, "Unknown"),
    ],
)
def test_settings_that_do_not_fit(upstream: Replicate, own: dict[str, Any], sentence: str) -> None:
    generator = make_remote(upstream, settings=own)
    boss = get_user_model().objects.create_superuser("boss", password="x")
    staff = Client()
    staff.force_login(boss)
    form = {
        "name": "far",
        "title": "Far",
        "adapter": "replicate",
        "settings": json.dumps(generator.settings),
        "kind": "image",
        "pool": "default",
        "max_running": "5",
        "timeout_seconds": "900",
        "expected_seconds": "10",
        "failure_budget": "3",
        "rate_burst": "1",
    }
    page = staff.post(f"/admin/tasks_app/generator/{generator.pk}/change/", form)
    assert page.status_code == 200
    errors = page.context["adminform"].form.errors
    assert sentence in str(errors["settings"])


def test_a_file_is_shown_first_and_applied_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "generators.toml"
    file.write_text(FILE)
    call_command("apply_generators", str(file), "--dry-run")
    assert not Generator.objects.exists()
    assert "+ flux: max_running = 50" in capsys.readouterr().out
    with pytest.raises(CommandError, match="--yes"):
        call_command("apply_generators", str(file))
    call_command("apply_generators", str(file), "--yes")
    flux = Generator.objects.get(name="flux")
    assert (flux.max_running, flux.fallback and flux.fallback.name) == (50, "other")
    assert Generator.objects.get(name="other").paused
    capsys.readouterr()
    call_command("apply_generators", str(file), "--yes")
    assert capsys.readouterr().out == "Nothing differs.\n"
    Generator.objects.filter(name="flux").update(timeout_seconds=77, max_running=7)
    call_command("apply_generators", str(file), "--yes")
    assert capsys.readouterr().out == "~ flux: max_running: 7 -> 50\nDone.\n"
    flux.refresh_from_db()
    assert (flux.timeout_seconds, flux.max_running) == (77, 50)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[", "not TOML"),
        ("x = 1", "must consist"),
        ("[generators]\nx = 1", "must be a table"),
        ('[generators.x]\ntitle = "X"\nspeed = 1', "unknown: speed"),
        ('[generators.x]\ntitle = "X"', "needs adapter"),
        ('[generators.x]\ntitle = "X"\nadapter = "none"', "no adapter"),
        ('[generators.X]\ntitle = "X"\nadapter = "sketch"', "lower-case"),
        ('[generators.x]\ntitle = "X"\nadapter = "replicate"', "credential"),
        ('[generators.x]\ntitle = "X"\nadapter = "sketch"\nmax_running = 0', "max_running"),
        ('[generators.x]\ntitle = "X"\nadapter = "sketch"\nmax_running = "many"', "max_running"),
        ('[generators.x]\ntitle = "X"\nadapter = "sketch"\nfallback = "y"', "fallback"),
        ('[generators.x]\ntitle = "X"\nadapter = "sketch"\nsettings = 1', "settings"),
    ],
)
def test_files_that_cannot_be_applied(text: str, sentence: str) -> None:
    good = '[generators.good]\ntitle = "G"\nadapter = "sketch"\n'
    with pytest.raises(generators_file.Unusable, match=sentence.replace("[", r"\[")):
        generators_file.apply(generators_file.read(text if text in ("[", "x = 1") else good + text))
    assert not Generator.objects.exists(), "all or nothing"


def test_what_was_seen_is_said_in_the_readers_language(
    upstream: Replicate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPSTREAM_WRONG", "r8_wrong")
    nowhere = {"base_url": f"http://127.0.0.1:{free_port()}"}
    rows = [
        make_remote(upstream, "far"),
        make_remote(upstream, "gone", settings=nowhere),
        make_remote(upstream, "wrong", settings={"credential": "env:UPSTREAM_WRONG"}),
        make_remote(upstream, "none", settings={"credential": "env:UPSTREAM_NONE"}),
        make_remote(upstream, "unfit", settings={"speed": 1}),
        make_generator("near"),
    ]
    staff = Client(headers={"accept-language": "zh-hans"})
    staff.force_login(get_user_model().objects.create_superuser("boss", password="x"))
    form = {"action": "test_connection", "_selected_action": [str(one.pk) for one in rows]}
    page = staff.post("/admin/tasks_app/generator/", form, follow=True).content.decode()
    for sentence in (
        "far: 它以 ada 的身份接受我们。",
        "gone: 无法连接到模型服务。",
        "wrong: 模型服务不接受我们（HTTP 401）。",
        "none: 这里没有设置 env:UPSTREAM_NONE。",
        "unfit: 它的设置不合适：Unknown settings: speed.",
        "near: 它就在这里工作，没有上游。",
    ):
        assert sentence in page, sentence
