"""PostgreSQL: reached, new enough, migrated, durable, with room and the right time."""

import re
import time
from typing import Any, Final

import psycopg
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tasks_app.maintenance.doctor.finding import Finding, ok, one_line, problem, warning

OLDEST: Final = 14
_CONNECT_SECONDS: Final = 4
_NEARLY_FULL: Final = 0.8
_SKEW_WARNING: Final = 2.0
_SKEW_PROBLEM: Final = 30.0
"""Seconds between this host's clock and the database's."""

_CAUSES: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "password authentication failed|no password supplied",
        "PostgreSQL refused the password for {user}",
        "Correct the password in DATABASE_URL, or set it with ALTER ROLE … PASSWORD.",
    ),
    (
        "role .* does not exist",
        "PostgreSQL knows no role {user}",
        "Create it with CREATE ROLE … LOGIN, or correct DATABASE_URL.",
    ),
    (
        "database .* does not exist",
        "PostgreSQL has no database {name}",
        "Create it with CREATE DATABASE … OWNER {user}, or correct DATABASE_URL.",
    ),
    (
        "no pg_hba.conf entry|pg_hba.conf rejects|[Pp]eer authentication failed",
        "PostgreSQL lets {user} not in from this host",
        "Add a line for this host and database to pg_hba.conf and reload PostgreSQL.",
    ),
    (
        "too many clients|remaining connection slots|too many connections",
        "PostgreSQL has no connection left",
        "Raise max_connections, or start fewer workers and web threads.",
    ),
    (
        "starting up|shutting down|in recovery mode|not yet accepting",
        "PostgreSQL is not ready yet",
        "Wait until it is, or look into its log.",
    ),
    (
        "Connection refused|No such file or directory",
        "nothing listens at {where}",
        "Start PostgreSQL, or correct host and port in DATABASE_URL.",
    ),
    (
        "could not translate host|resolve|Name or service not known",
        "the host name {host} cannot be resolved",
        "Correct the host in DATABASE_URL, or the name service of this host.",
    ),
    (
        "timeout expired|timed out",
        "PostgreSQL at {where} does not answer",
        "Look at the server, and at firewalls between it and this host.",
    ),
    (
        "SSL|certificate|TLS",
        "the encrypted connection to PostgreSQL fails",
        "Correct sslmode and sslrootcert in DATABASE_URL, or the server's certificate.",
    ),
)


def reachable() -> Finding:
    """Connect with a short timeout; tell the usual causes apart; look at the version."""
    started = time.monotonic()
    try:
        with psycopg.connect(**_parameters()) as one:
            version = one.info.server_version
    except psycopg.Error as error:
        return _unreachable(one_line(error))
    found = f"PostgreSQL {version // 10_000}.{version % 10_000}"
    if version < OLDEST * 10_000:
        return problem(
            f"{found} is too old.", f"Upgrade it to PostgreSQL {OLDEST} or newer (pg_upgrade)."
        )
    return ok(f"{found} answers in {(time.monotonic() - started) * 1000:.0f} ms.")


def _parameters() -> dict[str, Any]:
    values = connection.settings_dict
    named = {
        "dbname": values["NAME"],
        "user": values["USER"],
        "password": values["PASSWORD"],
        "host": values["HOST"],
        "port": values["PORT"],
    }
    given = {name: value for name, value in named.items() if value}
    parameters: dict[str, Any] = {**given, **values["OPTIONS"], "connect_timeout": _CONNECT_SECONDS}
    parameters.pop("pool", None)  # Django's own, no word of PostgreSQL's
    return parameters


def _unreachable(message: str) -> Finding:
    values = connection.settings_dict
    host, port = values["HOST"] or "the default socket", values["PORT"] or "5432"
    words = {
        "user": values["USER"] or "this user",
        "name": values["NAME"],
        "host": host,
        "where": f"{host}, port {port}",
    }
    for pattern, cause, cure in _CAUSES:
        if re.search(pattern, message):
            text = cause.format(**words)
            return problem(f"{text[0].upper()}{text[1:]}.", cure.format(**words))
    return problem(f"PostgreSQL cannot be reached: {message}", "Correct DATABASE_URL.")


def migrated() -> Finding:
    """Compare the tables with the migrations of this code."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return problem(
            f"{len(missing)} migrations have not been applied, first {missing[0][0]}.",
            "Run `manage.py migrate`.",
        )
    ours = {label for label in executor.loader.applied_migrations if label[0] == "tasks_app"}
    unknown = sorted(name for _, name in ours - executor.loader.disk_migrations.keys())
    if unknown:
        return warning(
            f"The tables are newer than this code ({unknown[-1]}).",
            "Upgrade Darkroom on this host and restart its services.",
        )
    return ok("Every migration has been applied.")


def durable() -> Finding:
    """What was committed must survive a crash, and the server must take writes."""
    if _shown("transaction_read_only") == "on" or _one("SELECT pg_is_in_recovery()"):
        return problem(
            "The database is read-only: it is a standby, or set so.",
            "Point DATABASE_URL at the primary.",
        )
    names = ("fsync", "synchronous_commit", "full_page_writes")
    off = [name for name in names if _shown(name) == "off"]
    if off:
        return warning(
            f"Accepted tasks can be lost in a crash: {', '.join(off)} off.",
            "Set to on in postgresql.conf and reload.",
        )
    return ok("What is committed survives a crash.")


def room_for_connections() -> Finding:
    """Compare the connections of all clients with what the server allows."""
    used = int(_one("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"))
    most = int(_shown("max_connections")) - int(_shown("superuser_reserved_connections"))
    if used > most * _NEARLY_FULL:
        return warning(
            f"{used} of {most} database connections are in use.",
            "Raise max_connections, or lower the number of workers and web threads.",
        )
    return ok(f"{used} of {most} database connections are in use.")


def clock() -> Finding:
    """Compare this host's clock with the database's, which decides."""
    before = time.time()
    theirs = float(_one("SELECT extract(epoch FROM clock_timestamp())"))
    after = time.time()
    skew = (before + after) / 2 - theirs
    sentence = f"This host's clock is {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} "
    cure = "Run a time service (chrony or systemd-timesyncd) on this host and the database's."
    if abs(skew) > _SKEW_PROBLEM:
        return problem(f"{sentence}the database's: links and signatures fail.", cure)
    if abs(skew) > _SKEW_WARNING + (after - before):
        return warning(f"{sentence}the database's.", cure)
    return ok("This host and the database agree about the time.")


def _shown(name: str) -> str:
    return str(_one("SELECT current_setting(%s)", name))


def _one(sql: str, *arguments: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return cursor.fetchone()[0]
