"""How long statements may take, by what a process is for, and pools that make sense."""

import pytest

from aigc_site import env
from aigc_site.database import TIMES, options, pool, refuse_unused, role


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("manage.py web --port 80", "web"),
        ("/srv/manage.py worker default", "worker"),
        ("./manage.py tick", "ticker"),
        ("manage.py sweep_tasks", "ticker"),
        ("manage.py archive_tasks --limit 1", "archive"),
        ("manage.py migrate", "migration"),
        ("manage.py doctor", "command"),
        ("manage.py shell", "command"),
        ("/x/granian/__main__.py --interface rsgi", "web"),
        ("gunicorn migrate", "web"),
        ("", "web"),
    ],
)
def test_a_process_is_known_by_its_command_line(command: str, found: str) -> None:
    assert role(command.split()) == found


def test_every_role_waits_for_locks_in_bounds_and_only_long_work_is_exempt() -> None:
    assert all(0 < times.lock <= 10 for times in TIMES.values())
    exempt = {name for name, times in TIMES.items() if times.statement == 0}
    assert exempt == {"archive", "migration"}
    assert all(times.idle for name, times in TIMES.items() if name != "migration")
    assert "-c statement_timeout=15000 -c lock_timeout=10000" in options(["granian"], "")


def test_options_of_the_url_come_last() -> None:
    assert options(["granian"], "-c statement_timeout=1s").endswith("-c statement_timeout=1s")


def test_threads_keep_connections_unless_they_share_them() -> None:
    assert pool(["granian"], 0, None) == {"CONN_MAX_AGE": 60}
    assert pool(["granian"], 0, 5) == {"CONN_MAX_AGE": 5}
    shared = pool(["granian"], 3, None)
    assert (shared["CONN_MAX_AGE"], shared["OPTIONS"]["pool"]["max_size"]) == (0, 3)
    assert pool(["manage.py", "worker"], 3, None) == {"CONN_MAX_AGE": 60}


def test_pools_that_make_no_sense_are_refused() -> None:
    with pytest.raises(env.BadSetting, match="at least 2"):
        pool(["granian"], 1, None)
    with pytest.raises(env.BadSetting, match="both set"):
        pool(["granian"], 4, 10)
    refuse_unused(4, 4)
    with pytest.raises(env.BadSetting, match="4 threads"):
        refuse_unused(5, 4)
