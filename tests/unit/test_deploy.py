"""The files of `deploy/` fit the code, each other, and the page that installs them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.management import get_commands
from psycopg import conninfo
from pytest_django import Settings

from aigc_site import bodies, pgclient
from aigc_site.env import PLACEHOLDER, BadSetting
from tasks_app import checks, conf
from tests.processes import ROOT, free_port

DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs/production.md").read_text()
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
SCRIPTS = sorted((DEPLOY / "bin").iterdir())


def lines(path: Path) -> dict[str, str]:
    """Return NAME=value lines."""
    return dict(re.findall(r"(?m)^([A-Za-z_]+)=(.*)$", path.read_text()))


def environment(**changes: str) -> dict[str, str]:
    """Return the example's environment, filled in as the page says, over an empty one."""
    own = {
        "DATABASE_URL": "postgresql://darkroom:0af1@127.0.0.1:5432/darkroom",
        "REDIS_URL": "redis://:0af1@127.0.0.1:6379/0",
        "DARKROOM_SECRET_KEY": os.urandom(32).hex(),
        "DARKROOM_PUBLIC_URL": "https://pictures.example.org",
    }
    clean = {name: value for name, value in os.environ.items() if "DARKROOM" not in name}
    return clean | lines(DEPLOY / "darkroom.env") | own | changes


def manage(*arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- the environment -----------------------------------------------------------------------


def test_the_production_environment_passes_every_deployment_check() -> None:
    ended = manage("check", "--deploy", "--fail-level", "WARNING")
    assert ended.returncode == 0, ended.stderr
    assert "no issues" in ended.stdout


@pytest.mark.parametrize(
    ("url", "behind_proxy", "said"),
    [
        ("https://pictures.example.org", True, []),
        ("http://pictures.example.org", False, []),  # allowed by DARKROOM_INSECURE_HTTP alone
        ("https://pictures.example.org", False, ["darkroom.W001"]),
        ("http://127.0.0.1:8000", True, ["darkroom.W002"]),
    ],
)
def test_a_deployment_is_reached_over_https_through_a_proxy(
    settings: Settings, url: str, behind_proxy: bool, said: list[str]
) -> None:
    settings.PUBLIC_URL, settings.BEHIND_PROXY = url, behind_proxy
    assert [message.id for message in checks.reached_as_said()] == said


@pytest.mark.parametrize(
    ("host", "sslmode", "redis", "said"),
    [
        ("127.0.0.1", "", "redis://:0af1@127.0.0.1:6379/0", []),
        ("/run/postgresql", "", "unix:///run/redis.sock?db=0", []),
        ("10.0.0.1", "verify-full", "rediss://:0af1@10.0.0.1:6380/0", []),
        ("10.0.0.1", "", "redis://:0af1@127.0.0.1:6379/0", ["darkroom.W003"]),
        ("10.0.0.1", "prefer", "redis://:0af1@127.0.0.1:6379/0", ["darkroom.W003"]),
        ("127.0.0.1", "", "redis://:0af1@10.0.0.1:6379/0", ["darkroom.W004"]),
        ("127.0.0.1", "", "redis://127.0.0.1:6379/0", ["darkroom.W005"]),
    ],
)
def test_nothing_crosses_a_network_in_the_clear(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    sslmode: str,
    redis: str,
    said: list[str],
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", host)
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", {"sslmode": sslmode})
    settings.REDIS_URL = redis
    assert [message.id for message in checks.traffic_in_the_clear()] == said


def test_the_public_name_must_be_let_in(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://pictures.example.org"
    settings.ALLOWED_HOSTS = ["pictures.example.org"]
    assert checks.public_host() == []
    settings.ALLOWED_HOSTS = ["other.example.org"]
    assert [message.id for message in checks.public_host()] == ["darkroom.E004"]


def test_the_environment_of_another_host_passes_too() -> None:
    example = re.search(r"DATABASE_URL='([^']*verify-full[^']*)'", PAGE)
    redis = re.search(r"REDIS_URL='(rediss://[^']*)'", PAGE)
    assert example and redis
    changes = {"DATABASE_URL": example[1], "REDIS_URL": redis[1]}
    ended = manage("check", "--deploy", "--fail-level", "WARNING", **changes)
    assert ended.returncode == 0, ended.stderr


def test_the_example_itself_does_not_start() -> None:
    example = lines(DEPLOY / "darkroom.env")
    ended = manage("check", **example)
    assert ended.returncode == 2 and PLACEHOLDER in ended.stderr
    described = re.findall(r"(?m)^\| `([A-Z_]+)` \|", (ROOT / "docs/settings.md").read_text())
    assert set(example) <= set(described)


# --- units ---------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: str(path.name))
def test_a_unit_restarts_always_and_stops_in_time(unit: Path) -> None:
    found = lines(unit)
    assert found["Restart"] == "always" and found["StartLimitIntervalSec"] == "0"
    assert found["KillMode"] == "mixed"
    assert found["User"] == "darkroom" and found["NoNewPrivileges"] == "yes"
    assert found["ProtectSystem"] == "strict"
    assert found["EnvironmentFile"] == "/etc/darkroom/darkroom.env"
    command = re.search(r"manage\.py (\w+)", found["ExecStart"])
    assert command and get_commands()[command[1]] == "tasks_app"


def test_workers_have_the_time_that_they_need_to_drain() -> None:
    seconds = int(lines(DEPLOY / "systemd/darkroom-worker@.service")["TimeoutStopSec"])
    assert seconds >= site.DARKROOM["worker_drain"] or conf.get().worker_drain < 25
    assert seconds > 25 + 10  # the default drain, its last word, and a slow host


def test_the_pool_is_what_stands_before_the_colon(tmp_path: Path) -> None:
    command = lines(DEPLOY / "systemd/darkroom-worker@.service")["ExecStart"]
    program = re.fullmatch(r"/bin/sh -c '(.*)' worker %i", command)
    assert program
    source = program[1].replace("%%", "%").replace("$$", "$").replace("exec ", "echo ")
    for instance, pool in (("default:1", "default"), ("gpu-a.b:12", "gpu-a.b"), ("x", "x")):
        told = subprocess.check_output(["/bin/sh", "-c", source, "worker", instance], text=True)
        assert told.split()[1:] == ["manage.py", "worker", pool]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("instance", ["web@8001", "worker@default", "ticker"])
def test_systemd_understands_the_units(tmp_path: Path, instance: str) -> None:
    for unit in (DEPLOY / "systemd").iterdir():
        python = "/opt/darkroom/current/.venv/bin/python"
        (tmp_path / unit.name).write_text(unit.read_text().replace(python, "/bin/true"))
    name, at, _ = instance.partition("@")
    target = tmp_path / f"darkroom-{instance}.service"
    if at:
        target.symlink_to(tmp_path / f"darkroom-{name}@.service")
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(target)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ours = [line for line in ended.stderr.splitlines() if "darkroom" in line]
    assert ours == []


# --- nginx ---------------------------------------------------------------------------------


def test_nginx_sends_the_files_that_darkroom_names() -> None:
    text = (DEPLOY / "nginx/darkroom.conf").read_text()
    example = lines(DEPLOY / "darkroom.env")
    location = re.search(r"location (\S+)/ \{\s+internal;\s+alias (\S+);", text)
    assert location
    assert location[1] == example["DARKROOM_ACCEL_PREFIX"]
    assert location[2] == f"{example['DARKROOM_DATA']}/results/"
    assert site.MEDIA_ROOT.name == "results"


def test_nginx_leaves_refusals_of_bodies_to_darkroom() -> None:
    text = (DEPLOY / "nginx/darkroom.conf").read_text()
    usual, webhooks = re.findall(r"client_max_body_size\s+(\d+)m;", text)
    assert int(usual) << 20 > site.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert int(webhooks) << 20 > bodies.WEBHOOK


def test_nginx_serves_the_ports_that_the_page_starts() -> None:
    text = (DEPLOY / "nginx/darkroom.conf").read_text()
    ports = re.findall(r"server 127\.0\.0\.1:(\d+) max_fails=0;", text)
    assert len(ports) == 2 and all(f"darkroom-web@{port}" in PAGE for port in ports)


def test_what_is_believed_of_the_proxy_is_set_by_it() -> None:
    text = (DEPLOY / "nginx/darkroom.conf").read_text()
    assert re.search(r"proxy_set_header\s+X-Real-IP\s+\$remote_addr;", text)
    assert re.search(r"proxy_set_header\s+X-Forwarded-Proto\s+\$scheme;", text)


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx_understands_its_configuration(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx/darkroom.conf").read_text().replace(PLACEHOLDER, "pictures.example")
    # No certificate here: its lines, and TLS with them, are left out.
    text = re.sub(r"\n\s+ssl_[^;]+;", "", text).replace(" ssl http2", "")
    text = re.sub(r"listen \[::\]:\d+;", "", text)
    text = re.sub(r"listen \d+;", f"listen 127.0.0.1:{free_port()};", text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in kinds)
    main = f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{folders}{text}\n}}\n"
    (tmp_path / "nginx.conf").write_text(main)
    ended = subprocess.run(
        ["nginx", "-t", "-q", "-p", str(tmp_path), "-e", "stderr", "-c", f"{tmp_path}/nginx.conf"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "emerg" not in ended.stderr, ended.stderr


# --- cron, scripts, the page ---------------------------------------------------------------


def test_cron_runs_commands_that_exist() -> None:
    text = (DEPLOY / "cron/darkroom").read_text()
    jobs = [line for line in text.splitlines() if re.match(r"[*\d]", line)]
    assert any(job.startswith("* * * * * ") and "sweep_tasks" in job for job in jobs)
    for command in re.findall(r" darkroom (\w+)", "\n".join(jobs)):
        assert command in get_commands()
    for script in re.findall(r" (darkroom-\w+) /", "\n".join(jobs)):
        assert (DEPLOY / "bin" / script).exists()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.name))
def test_scripts_are_programs_that_a_shell_understands(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["/bin/sh", "-n", str(script)], check=True)


def test_redis_and_postgresql_are_set_up_as_the_doctor_wants_them() -> None:
    redis = (DEPLOY / "redis/darkroom.conf").read_text()
    assert {"appendonly yes", "maxmemory-policy noeviction"} <= set(redis.splitlines())
    postgres = (DEPLOY / "postgresql/darkroom.conf").read_text()
    assert {"fsync = on", "synchronous_commit = on"} <= set(postgres.splitlines())


def test_the_page_names_every_file_and_every_file_that_it_names_exists() -> None:
    named = set(re.findall(r"deploy/([\w./@-]+[\w/])", PAGE))
    for name in named:
        assert (DEPLOY / name).exists(), name
    for path in DEPLOY.rglob("*"):
        own = str(path.relative_to(DEPLOY))
        if path.is_file():
            assert any(own == name or own.startswith(name.rstrip("/") + "/") for name in named), own


def test_the_page_runs_commands_that_exist() -> None:
    known = {*get_commands()}
    for command in re.findall(r"(?m)(?:^|env )darkroom ([a-z_]+)", PAGE):
        assert command in known, command


# --- libpq's programs ----------------------------------------------------------------------


def test_libpq_programs_get_the_password_where_nobody_sees_it() -> None:
    dsn = "postgresql://u:p%40ss@db.example:5433/pictures?sslmode=verify-full&sslrootcert=/ca.pem"
    assert pgclient.variables(dsn) == {
        "PGUSER": "u",
        "PGPASSWORD": "p@ss",
        "PGHOST": "db.example",
        "PGPORT": "5433",
        "PGDATABASE": "pictures",
        "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": "/ca.pem",
    }
    with pytest.raises(BadSetting):
        pgclient.variables("mysql://u@h/d")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "psql, pg_dump or pg_restore"),
        (["name"], 0, "darkroom"),
        (["no-such-program"], 127, "no-such-program: "),
        (["printenv", "PGPASSWORD"], 0, "0af1"),
    ],
)
def test_libpq_programs_are_run(arguments: list[str], status: int, said: str) -> None:
    ended: Any = subprocess.run(
        [sys.executable, "-m", "aigc_site.pgclient", *arguments],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    assert said in ended.stdout + ended.stderr
    assert conninfo.conninfo_to_dict(environment()["DATABASE_URL"])["password"] == "0af1"
