from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aigc_site import env
from aigc_site.env import BadSetting


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets X and returns its name."""

    def put(value: str) -> str:
        monkeypatch.setenv("X", value)
        return "X"

    monkeypatch.delenv("X", raising=False)
    monkeypatch.delenv("X_FILE", raising=False)
    return put


@pytest.mark.parametrize(
    "reader", [env.text, env.secret, env.integer, env.number, env.boolean, env.duration, env.url]
)
def test_without_a_default_a_setting_is_required(setting: Any, reader: Any) -> None:
    with pytest.raises(BadSetting, match="X is not set"):
        reader("X")
    with pytest.raises(BadSetting, match="X is not set"):
        reader(setting("  "))


@pytest.mark.parametrize(
    ("reader", "default"),
    [
        (env.text, "a"),
        (env.secret, "a"),
        (env.integer, 0),
        (env.number, 0.0),
        (env.boolean, False),
        (env.duration, 0.0),
        (env.url, "http://a"),
    ],
)
def test_an_empty_setting_is_the_default(setting: Any, reader: Any, default: object) -> None:
    assert reader("X", default) == reader(setting(""), default) == default


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        (env.text, " two words ", "two words"),
        (env.integer, "-12", -12),
        (env.number, "0.25", 0.25),
        (env.boolean, "Yes", True),
        (env.boolean, "off", False),
        (env.words, "a, b,c", ["a", "b", "c"]),
        (env.duration, "90", 90.0),
        (env.duration, "500ms", 0.5),
        (env.duration, "1.5h", 5_400.0),
        (env.duration, "7d", 604_800.0),
        (env.url, "https://a.example:8443/", "https://a.example:8443"),
        (env.path, "/srv/x", Path("/srv/x")),
    ],
)
def test_values_are_read(setting: Any, reader: Any, value: str, read: object) -> None:
    assert reader(setting(value)) == read


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (env.text, "two\nlines"),
        (env.integer, "1.0"),
        (env.integer, "1_000"),
        (env.integer, "0x10"),
        (env.integer, "١"),
        (env.integer, "9" * 30),
        (env.number, "nan"),
        (env.number, "inf"),
        (env.number, "1e3"),
        (env.boolean, "2"),
        (env.boolean, "maybe"),
        (env.words, "a,,b"),
        (env.words, ","),
        (env.duration, "-5s"),
        (env.duration, "5 weeks"),
        (env.url, "a.example"),
        (env.url, "ftp://a.example"),
        (env.url, "http://"),
        (env.url, "http://a:port"),
        (env.url, "http://a b"),
    ],
)
def test_odd_values_are_refused_by_name(setting: Any, reader: Any, value: str) -> None:
    with pytest.raises(BadSetting, match=r"^X .*\.$"):
        reader(setting(value))


@pytest.mark.parametrize("reader", [env.integer, env.number, env.duration])
def test_bounds_are_inclusive(setting: Any, reader: Any) -> None:
    for value in ("1", "3"):
        assert reader(setting(value), minimum=1, maximum=3) == float(value)
    with pytest.raises(BadSetting, match="at least 1"):
        reader(setting("0"), minimum=1, maximum=3)
    with pytest.raises(BadSetting, match="at most 3"):
        reader(setting("4"), minimum=1, maximum=3)


def test_text_may_be_one_of_a_few(setting: Any) -> None:
    assert env.text(setting("b"), choices=("a", "b")) == "b"
    with pytest.raises(BadSetting, match="one of a, b"):
        env.text(setting("c"), choices=("a", "b"))


def test_a_secret_may_be_in_a_file(setting: Any, tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    monkeypatch.setenv("X_FILE", str(file))
    assert env.secret("X") == "s3cret"
    with pytest.raises(BadSetting, match="both set"):
        env.secret(setting("other"))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "cannot be read"), (b"", "is empty"), (b"\xff", "not text"), (b"x" * 70_000, "large")],
)
def test_an_unusable_secret_file_is_refused(
    setting: Any, tmp_path: Path, monkeypatch: Any, content: bytes | None, complaint: str
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("X_FILE", str(file))
    with pytest.raises(BadSetting, match=complaint):
        env.secret("X")


def test_a_database_url_becomes_django_settings() -> None:
    assert env.database("postgresql://u:p%40@db.example:5433/name?sslmode=require") == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "name",
        "USER": "u",
        "PASSWORD": "p@",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "require"},
    }


@pytest.mark.parametrize(
    "url", ["postgresql://u@%2Frun%2Fmy%20pg/name", "postgresql://u@/name?host=/run/my%20pg"]
)
def test_a_database_may_be_behind_a_socket(url: str) -> None:
    settings = env.database(url)
    assert (settings["HOST"], settings["PORT"], settings["OPTIONS"]) == ("/run/my pg", "", {})


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite:///x",
        "mysql://u:hunter2@h/db",
        "postgresql://u:hunter2@h",
        "postgresql://u:hunter2%zz@h/db",
        "postgresql://u:hunter2@h/db?nonsense=1",
    ],
)
def test_an_unusable_database_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadSetting, match=r"^DATABASE_URL ") as caught:
        env.database(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@given(st.text(max_size=20).filter(lambda text: "\x00" not in text))
def test_any_text_is_read_or_refused(value: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv("X", value)
        except UnicodeEncodeError:  # a lone surrogate cannot be in an environment
            return
        for reader in (env.text, env.integer, env.number, env.boolean, env.duration, env.url):
            try:
                reader("X", None)
            except BadSetting as error:
                assert str(error).startswith("X ")  # both outcomes are right


def test_networks_are_read_and_odd_ones_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETS", "10.0.0.0/8, ::1, 192.0.2.7")
    assert [str(net) for net in env.networks("NETS")] == ["10.0.0.0/8", "::1/128", "192.0.2.7/32"]
    for wrong in ("10.0.0.1/8", "everywhere", "10.0.0.0/40", "10.0.0.0/8,,::1"):
        monkeypatch.setenv("NETS", wrong)
        with pytest.raises(env.BadSetting, match="NETS"):
            env.networks("NETS")
