"""Options of `up` that make no sense are one sentence, and nothing is made."""

from pathlib import Path

import pytest

from aigc_site.embedded import service


@pytest.mark.parametrize("name", ["port", "workers"])
@pytest.mark.parametrize("given", ["abc", "0", "-1", "99999", "1.5", ""])
def test_what_is_no_such_number_is_one_sentence(
    name: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    assert service.main([f"--data={data}", f"--{name}={given}"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert f"{given} " in said.err
    assert "choose another" in said.err
    assert not data.exists()


def test_the_environment_is_read_like_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", "http")
    assert service.main([f"--data={tmp_path}"]) == 1
    assert "The port http is not between" in capsys.readouterr().err
