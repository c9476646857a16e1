"""The version in the address of static files."""

from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client

from aigc_site import assets


def test_the_version_follows_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("one")
    before = assets.version_of(tmp_path)
    assert assets.version_of(tmp_path) == before
    (tmp_path / "a.js").write_text("two")
    changed = assets.version_of(tmp_path)
    (tmp_path / "a.js").rename(tmp_path / "b.js")
    assert len({before, changed, assets.version_of(tmp_path)}) == 3


def test_the_version_follows_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = assets.version_of(tmp_path)
    monkeypatch.setattr(assets, "version", lambda package: "99")
    assert assets.version_of(tmp_path) != before


@pytest.mark.django_db  # closing a response looks after connections
def test_scripts_and_their_neighbours_are_served_under_one_version_and_kept(client: Client) -> None:
    folders = [settings.BASE_DIR / f"tasks_app/{name}" for name in ("static", "locale")]
    folder = static("web/app.css").removesuffix("web/app.css")
    assert folder == f"/static/{assets.version_of(*folders)}/"
    for name in ("web/studio.js", "web/dom.js", "web/app.css"):
        answer = client.get(folder + name)
        answer.close()
        assert answer.status_code == 200
        assert "max-age=31536000" in answer["Cache-Control"]
    assert client.get("/static/other/web/studio.js").status_code == 404
