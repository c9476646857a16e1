"""OpenAI's videos, DashScope and ComfyUI: what is particular about each."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from tasks_app.core import cancellation
from tasks_app.core.remote import polling
from tasks_app.generators import registry
from tasks_app.generators.errors import InvalidSettings
from tasks_app.models import Artifact, Attempt, Generator
from tests import scenes
from tests.integration.core.remote.conftest import Hand, state
from tests.integration.core.remote.test_way import silence
from tests.unit.results.clips import clip
from tests.upstreams import dashscope, fake, openai
from tests.upstreams.comfyui import WORKFLOW, ComfyUI
from tests.upstreams.dashscope import DashScope
from tests.upstreams.openai import OpenAI


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSTREAM_OPENAI", openai.KEY)
    monkeypatch.setenv("UPSTREAM_DASH", dashscope.KEY)


def make(adapter: str, url: str, **settings: Any) -> Generator:
    own = {"base_url": url, **settings}
    return Generator.objects.create(
        name="far", title="Far", adapter=adapter, settings=own, max_running=100
    )


# --- OpenAI's videos ------------------------------------------------------------------------


@pytest.fixture
def videos() -> Iterator[OpenAI]:
    """Return a server of videos that are done at once."""
    made = OpenAI()
    made.film = clip()
    yield made
    made.stop()


def make_videos(server: OpenAI) -> Generator:
    own = {"model": "sora-2", "credential": "env:UPSTREAM_OPENAI"}
    return make("openai-videos", f"{server.url}/v1", **own)


def test_a_video_and_its_poster(hand: Hand, videos: OpenAI) -> None:
    make_videos(videos)
    videos.seconds = 60
    attempt = hand.ask(hand.send("a boat", seconds="8"))
    assert (state(attempt), round(attempt.progress, 3)) == (("running", ""), 0.335)
    (video,) = videos.videos.values()
    assert {name: video[name] for name in ("model", "prompt", "size", "seconds")} == {
        "model": "sora-2",
        "prompt": "a boat",
        "size": "1280x720",
        "seconds": "8",
    }
    videos.seconds = 0
    assert state(hand.ask(attempt)) == ("success", "")
    artifact = Artifact.objects.get()
    assert (artifact.media_type, artifact.duration_seconds) == ("video/mp4", 1.0)
    assert scenes.has_its_files(attempt.task_id)


def test_videos_that_are_refused_forgotten_or_canceled(hand: Hand, videos: OpenAI) -> None:
    make_videos(videos)
    assert state(hand.ask(hand.send("nsfw"))) == ("failed", "content_rejected")
    videos.seconds = 60
    attempt = hand.send("a boat")
    cancellation.cancel(attempt.task_id, hand.user.pk)
    polling.round_of("default", hand.engine)
    hand.land()
    assert videos.count("delete") == 1


def test_a_video_behind_a_redirect_is_fetched_without_the_credential(
    hand: Hand, videos: OpenAI
) -> None:
    make_videos(videos)
    store = OpenAI()
    try:
        videos.faults["content"] = [fake.status(302, Location=f"{store.url}/files/x")]
        attempt = hand.ask(hand.send())
        assert state(attempt) == ("success", "")
        assert "authorization" not in store.of("file")[0].headers
    finally:
        store.stop()


# --- DashScope ------------------------------------------------------------------------------


@pytest.fixture
def dash() -> Iterator[DashScope]:
    """Return a server of tasks that are done at once."""
    made = DashScope()
    yield made
    made.stop()


def make_dash(server: DashScope, **more: Any) -> Generator:
    return make("dashscope", server.url, model="wan", credential="env:UPSTREAM_DASH", **more)


def test_pictures_of_dashscope(hand: Hand, dash: DashScope) -> None:
    make_dash(dash, input={"watermark": False})
    dash.states = ["PENDING", "RUNNING", "PONDERING"]
    attempt = hand.send("a boat", n=2)
    for _ in range(3):
        attempt = hand.ask(attempt)
        assert state(attempt) == ("running", "")
    assert state(hand.ask(attempt)) == ("success", "")
    assert Artifact.objects.count() == 2
    sent = dash.of("create")[0].json
    assert sent == {
        "model": "wan",
        "input": {"prompt": "a boat"},
        "parameters": {"n": 2, "size": "1024*1024", "watermark": False},
    }


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("half", ("success", "")),
        ("none", ("failed", "content_rejected")),
        ("fail", ("failed", "upstream_error")),
        ("nsfw", ("failed", "content_rejected")),
        ("odd", ("failed", "invalid_params")),
    ],
)
def test_ends_of_dashscope(
    hand: Hand, dash: DashScope, prompt: str, found: tuple[str, str]
) -> None:
    make_dash(dash)
    attempt = hand.send(prompt, n=2)
    assert state(hand.ask(attempt) if attempt.ended_at is None else attempt) == found


def test_throttling_has_many_names(hand: Hand, dash: DashScope) -> None:
    make_dash(dash)
    dash.faults["create"] = [fake.status(400, {"code": "Throttling.RateQuota", "message": "x"})]
    assert hand.send().outcome == "refused"


def test_a_task_that_dashscope_does_not_know(hand: Hand, dash: DashScope) -> None:
    make_dash(dash)
    attempt = hand.send()
    dash.tasks.clear()
    assert hand.ask(attempt).poll_failures == 1
    assert state(attempt) == ("running", "")


def test_a_cancel_that_dashscope_does_not_obey(hand: Hand, dash: DashScope) -> None:
    make_dash(dash)
    attempt = hand.send()
    cancellation.cancel(attempt.task_id, hand.user.pk)
    polling.round_of("default", hand.engine)
    hand.land()
    assert dash.count("cancel") == 1
    assert hand.ask(attempt).outcome == "revoked"
    assert scenes.history(attempt.task_id)[-1] == "late_result"


# --- ComfyUI --------------------------------------------------------------------------------


@pytest.fixture
def comfy() -> Iterator[ComfyUI]:
    """Return a server of workflows."""
    made = ComfyUI()
    yield made
    made.stop()


INPUTS = {"prompt": "6.text", "seed": ["3.seed"]}


def make_comfy(server: ComfyUI) -> Generator:
    return make("comfyui", server.url, workflow=WORKFLOW, inputs=INPUTS)


@pytest.mark.parametrize("own_names", [False, True])
def test_a_workflow(hand: Hand, comfy: ComfyUI, own_names: bool) -> None:
    comfy.own_names = own_names
    make_comfy(comfy)
    first, second = hand.send("a boat"), hand.send("a tower", seed=7)
    assert (first.upstream_id == str(first.pk)) is not own_names
    assert comfy.queue[0][2]["6"]["inputs"]["text"] == "a boat"
    assert comfy.queue[0][2]["3"]["inputs"]["seed"] > 0, "an open seed is a new one"
    assert comfy.queue[1][2]["3"]["inputs"]["seed"] == 7
    assert WORKFLOW["6"]["inputs"]["text"] == "", "the template stays as it is"
    assert state(hand.ask(first)) == state(hand.ask(second)) == ("running", "")
    comfy.finish()
    assert state(hand.ask(first)) == ("success", "")
    assert state(hand.ask(second)) == ("running", "")
    found = Artifact.objects.filter(task_id=first.task_id)
    assert len(found) == 2, "a preview is no result"
    assert {one.seed for one in found} == {first.pk.int % 2**31}, "the one that was chosen"
    comfy.finish()
    assert state(hand.ask(second)) == ("success", "")
    assert {one.seed for one in Artifact.objects.filter(task_id=second.task_id)} == {7}


def test_files_are_an_attempts_own(hand: Hand, comfy: ComfyUI) -> None:
    """The folder of results is cleared, and what was asked for before is asked for again."""
    make_comfy(comfy)
    paths = []
    for _ in range(2):
        attempt = hand.send("a boat", seed=7)
        comfy.finish()
        comfy.saved.clear()
        assert state(hand.ask(attempt)) == ("success", "")
        (saved,) = (
            one["images"]
            for one in comfy.history[str(attempt.pk)]["outputs"].values()
            if one["images"][0]["type"] == "output"
        )
        assert all(str(attempt.pk) in one["filename"] for one in saved)
        paths.append({one["filename"] for one in saved})
    assert not paths[0] & paths[1]
    assert {one["subfolder"] for one in saved} == {"a b"}


def test_ends_of_workflows(hand: Hand, comfy: ComfyUI) -> None:
    make_comfy(comfy)
    broken = hand.send("broken")
    said = "Not allowed, see https://a.example/b.\n output_dir: /srv/comfy, dir:/srv/comfy/x y"
    comfy.finish("error", [["execution_error", {"exception_message": said}]])
    broken = hand.ask(broken)
    assert state(broken) == ("failed", "upstream_error")
    assert broken.error_detail == ("Not allowed, see https://a.example/b. output_dir: …, dir:… y")
    lost = hand.send("lost")
    comfy.queue.clear()
    assert hand.ask(lost).poll_failures == 1


def test_an_answer_that_nothing_can_be_made_of_is_none(hand: Hand, comfy: ComfyUI) -> None:
    """A file that no address can name: asked for again, and not until the deadline."""
    make_comfy(comfy)
    attempt = hand.send()
    comfy.finish()
    (entry,) = comfy.history.values()
    entry["outputs"]["9"]["images"][0]["filename"] = "\ud800.png"
    for failures in (1, 2, 3):
        attempt = hand.ask(attempt)
        assert (state(attempt), attempt.poll_failures) == (("running", ""), failures)
    Attempt.objects.update(failing_since=Now() - timedelta(seconds=61))
    assert state(hand.ask(attempt)) == ("failed", "upstream_unreachable")


def test_others_in_the_queue_may_be_odd(hand: Hand, comfy: ComfyUI) -> None:
    make_comfy(comfy)
    attempt = hand.send()
    others: list[Any] = [
        None,
        7,
        {},
        [],
        [10**400],
        [10**400, "x", {}, None, 1],
        [1, {}, [], [], []],
    ]
    comfy.queue[:0] = others
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 0)


@pytest.mark.parametrize(
    ("prompt", "code", "detail"),
    [
        ("bad seed", "invalid_params", "Value -1 smaller than min of 0: seed"),
        ("no model", "upstream_rejected", "node 4, ckpt_name: Value not in list"),
        ("no node", "upstream_rejected", "Cannot execute because node KSampler does not exist."),
    ],
)
def test_who_is_to_blame_for_a_refusal(
    hand: Hand, comfy: ComfyUI, prompt: str, code: str, detail: str
) -> None:
    make_comfy(comfy)
    attempt = hand.send(prompt)
    assert state(attempt) == ("failed", code)
    assert attempt.error_detail.removeprefix("The server does not take the workflow: ") == detail


@pytest.mark.parametrize("fault", [False, True])
def test_a_part_of_a_workflow_is_taken_back(hand: Hand, comfy: ComfyUI, fault: bool) -> None:
    """Outputs that fit run without those that do not; if that cannot be stopped it is found."""
    make_comfy(comfy)
    comfy.faults["POST queue"] = [fake.reset] if fault else []
    attempt = hand.send("a part")
    if fault:
        assert state(attempt) == ("running", "")
        silence(attempt)
        assert hand.ask(attempt).upstream_id == str(attempt.pk)
    else:
        assert state(attempt) == ("failed", "invalid_params")
        assert (comfy.queue, comfy.interrupted) == ([], [str(attempt.pk)])
    assert comfy.count("POST prompt") == 1


def test_a_cancel_touches_nobody_else(hand: Hand, comfy: ComfyUI) -> None:
    make_comfy(comfy)
    running, waiting = hand.send("running"), hand.send("waiting")
    cancellation.cancel(waiting.task_id, hand.user.pk)
    polling.round_of("default", hand.engine)
    hand.land()
    assert ([one[1] for one in comfy.queue], comfy.interrupted) == ([running.upstream_id], [])
    cancellation.cancel(running.task_id, hand.user.pk)
    polling.round_of("default", hand.engine)
    hand.land()
    assert comfy.interrupted == [running.upstream_id]
    assert hand.ask(running).outcome == "revoked"


@pytest.mark.parametrize("version", ["0.3.56", ""])
def test_a_server_that_stops_whatever_runs_is_not_asked_to(
    hand: Hand, comfy: ComfyUI, version: str
) -> None:
    comfy.version = version
    make_comfy(comfy)
    running = hand.send("running")
    cancellation.cancel(running.task_id, hand.user.pk)
    polling.round_of("default", hand.engine)
    hand.land()
    assert (len(comfy.queue), comfy.count("POST interrupt")) == (1, 0)
    assert hand.ask(running).outcome == "", "its slot is taken as long as it runs"
    comfy.finish()
    assert hand.ask(running).outcome == "revoked"


@pytest.mark.parametrize("own_names", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_a_submission_without_an_answer_is_looked_for(
    hand: Hand, comfy: ComfyUI, own_names: bool, ended: bool
) -> None:
    comfy.own_names = own_names
    make_comfy(comfy)
    comfy.faults["POST prompt"] = [fake.done_then_reset]
    attempt = hand.send()
    assert (state(attempt), attempt.upstream_id) == (("running", ""), "")
    if ended:
        comfy.finish()
    silence(attempt)
    attempt = hand.ask(attempt)
    assert attempt.upstream_id
    if not ended:
        comfy.finish()
    assert state(hand.ask(attempt)) == ("success", "")
    assert comfy.count("POST prompt") == 1


def test_a_submission_that_never_arrived_is_made_again(hand: Hand, comfy: ComfyUI) -> None:
    make_comfy(comfy)
    comfy.faults["POST prompt"] = [fake.reset]
    attempt = hand.send()
    silence(attempt)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome) == (("pending", ""), "error")
    assert Attempt.objects.count() == 1


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"workflow": None}, "workflow"),
        ({"workflow": {"nodes": []}}, "class_type"),
        ({"workflow": "not JSON"}, "workflow"),
        ({"inputs": {}}, "inputs"),
        ({"inputs": {"prompt": "6.words", "seed": "3.seed"}}, "6.words"),
        ({"inputs": {"prompt": "6.text"}}, "seed"),
        ({"inputs": INPUTS | {"size": "3.seed"}}, "size"),
        ({"inputs": INPUTS | {"seed": 3}}, "node.input"),
    ],
)
def test_workflows_that_do_not_fit(more: dict[str, Any], sentence: str) -> None:
    settings = {"base_url": "http://x", "workflow": WORKFLOW, "inputs": INPUTS, **more}
    with pytest.raises(InvalidSettings, match=sentence):
        registry.build("comfyui", settings)


def test_a_workflow_may_be_the_text_of_its_file(hand: Hand, comfy: ComfyUI) -> None:
    make("comfyui", comfy.url, workflow=json.dumps(WORKFLOW), inputs=INPUTS)
    hand.send("a boat")
    assert comfy.queue[0][2]["6"]["inputs"]["text"] == "a boat"


@pytest.mark.parametrize(
    ("version", "argv", "seen"),
    [
        ("0.3.64", ["--disable-metadata"], "ComfyUI 0.3.64 answers."),
        (
            "0.3.64",
            [],
            "ComfyUI 0.3.64 answers. Its files tell callers the whole workflow unless it is "
            "started with --disable-metadata.",
        ),
        (
            "0.3.9",
            ["--disable-metadata"],
            "ComfyUI 0.3.9 answers. What runs is never stopped: that needs version 0.3.57.",
        ),
    ],
)
def test_what_is_seen_of_a_server(
    comfy: ComfyUI,
    version: str,
    argv: list[str],
    seen: str,
    capsys: pytest.CaptureFixture[str],
    hand: Hand,
) -> None:
    comfy.version, comfy.argv = version, argv
    make_comfy(comfy)
    call_command("check_upstreams")
    assert f"ok  far: {seen}\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["videos", "dash", "comfy"])
def test_their_connections_can_be_tested(
    name: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], hand: Hand
) -> None:
    server = request.getfixturevalue(name)
    makers: dict[str, Callable[[Any], Generator]] = {
        "videos": make_videos,
        "dash": make_dash,
        "comfy": make_comfy,
    }
    makers[name](server)
    call_command("check_upstreams")
    assert capsys.readouterr().out.startswith("ok  far: ")
