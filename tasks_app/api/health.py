"""`/healthz`: the process answers. `/readyz`: the databases answer, too."""

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from redis.exceptions import RedisError

from tasks_app.api.methods import read_only
from tasks_app.gates.connection import client


@csrf_exempt
@read_only
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process can."""
    return JsonResponse({"status": "ok"})


@csrf_exempt
@read_only
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when requests can be served: tables in place; 503 otherwise.

    Redis is told but does not count: without it submissions still work.
    """
    database, redis = _database(), _redis()
    ready = database == "ok"
    body = {"status": "ready" if ready else "not ready", "database": database, "redis": redis}
    return JsonResponse(body, status=200 if ready else 503)


_migrated = False


def _database() -> str:
    global _migrated
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if not _migrated:
            executor = MigrationExecutor(connection)
            if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                return "not migrated"
            _migrated = True
    except (DatabaseError, InterfaceError):
        return "unreachable"
    return "ok"


def _redis() -> str:
    try:
        client().ping()
    except RedisError:
        return "unreachable"
    return "ok"
