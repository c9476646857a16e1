"""The archive, when to try again to delete files, and vacuum for the tables that change since.

The index on the ids of archived artifacts is an expression over JSON that no model field says.

Vacuum: with the default of 20 % of a table, a large history would keep dead rows in front of
what is live. Measured: dead rows that nobody cleaned made a claim 0.6 -> 17 ms. Tables that only
grow are vacuumed for their visibility map, and the planner hears early of what changed: a task
table whose statistics are a day old is read by the wrong index.
"""

from typing import Any

import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

ARTIFACTS = """
CREATE INDEX archivedtask_artifacts ON tasks_app_archivedtask
USING gin (jsonb_path_query_array(artifacts, '$[*].id') jsonb_path_ops);
"""
NO_ARTIFACTS = "DROP INDEX archivedtask_artifacts;"

_CHANGING = (
    "autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, "
    "autovacuum_vacuum_cost_delay = 1, fillfactor = 85"
)
_VACUUM = {
    "task": "autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05",
    "attempt": (
        "autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05"
    ),
    "event": (
        "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, "
        "autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05"
    ),
    "artifact": _CHANGING,
    "idempotencykey": "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000",
    "apikey": _CHANGING,
    "sign": "fillfactor = 50",
    "archivedtask": "autovacuum_vacuum_insert_scale_factor = 0.05",
}


def _set(table: str, options: str) -> str:
    return f"ALTER TABLE tasks_app_{table} SET ({options});"


def _reset(table: str, options: str) -> str:
    names = ", ".join(option.split(" = ")[0] for option in options.split(", "))
    return f"ALTER TABLE tasks_app_{table} RESET ({names});"


VACUUM = "".join(_set(table, options) for table, options in _VACUUM.items())
DEFAULT_VACUUM = "".join(_reset(table, options) for table, options in _VACUUM.items())


def refuse_to_lose(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Do not drop an archive that holds tasks: nothing accepted is lost."""
    archived: Any = apps.get_model("tasks_app", "ArchivedTask")
    if archived.objects.exists():
        raise RuntimeError("The archive holds tasks; it cannot be taken away.")


class Migration(migrations.Migration):
    """Reversible while the archive is empty: what it holds would go with its table."""

    dependencies = [
        ("tasks_app", "0008_bounds"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ArchivedTask",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("failed", "failed"),
                            ("success", "success"),
                            ("timeout", "timeout"),
                        ],
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                (
                    "error_code",
                    models.CharField(blank=True, max_length=24, verbose_name="error"),
                ),
                ("created_at", models.DateTimeField(verbose_name="created")),
                ("finished_at", models.DateTimeField(verbose_name="finished")),
                ("archived_at", models.DateTimeField(verbose_name="archived")),
                ("params", models.JSONField(verbose_name="parameters")),
                ("row", models.JSONField()),
                ("attempts", models.JSONField(verbose_name="attempts")),
                ("events", models.JSONField(verbose_name="events")),
                ("artifacts", models.JSONField(verbose_name="artifacts")),
            ],
            options={
                "verbose_name": "archived task",
                "verbose_name_plural": "archived tasks",
                "default_permissions": ("view",),
            },
        ),
        migrations.RemoveIndex(
            model_name="artifact",
            name="artifact_files_owed",
        ),
        migrations.AddField(
            model_name="artifact",
            name="files_due_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="artifact",
            name="files_tries",
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="artifact",
            index=models.Index(
                django.db.models.functions.comparison.Coalesce("files_due_at", "removed_at"),
                condition=models.Q(("files_gone_at__isnull", True), ("removed_at__isnull", False)),
                name="artifact_files_due",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(
                    ("finished_at__isnull", False),
                    models.Q(
                        ("result_expires_at__isnull", True),
                        ("result_removed_at__isnull", False),
                        _connector="OR",
                    ),
                ),
                fields=["finished_at", "id"],
                name="task_archivable",
            ),
        ),
        migrations.AddField(
            model_name="archivedtask",
            name="generator",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="archived_tasks",
                to="tasks_app.generator",
                verbose_name="generator",
            ),
        ),
        migrations.AddField(
            model_name="archivedtask",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="archived_tasks",
                to=settings.AUTH_USER_MODEL,
                verbose_name="owner",
            ),
        ),
        migrations.AddIndex(
            model_name="archivedtask",
            index=models.Index(fields=["owner", "-id"], name="archivedtask_owner_recent"),
        ),
        migrations.AddIndex(
            model_name="archivedtask",
            index=models.Index(fields=["owner", "state", "-id"], name="archivedtask_owner_state"),
        ),
        migrations.AddIndex(
            model_name="archivedtask",
            index=models.Index(fields=["generator", "-id"], name="archivedtask_generator"),
        ),
        migrations.AddIndex(
            model_name="archivedtask",
            index=models.Index(fields=["state", "-id"], name="archivedtask_state"),
        ),
        migrations.AddConstraint(
            model_name="archivedtask",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["failed", "success", "timeout"])),
                name="archivedtask_ended",
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, refuse_to_lose),
        migrations.RunSQL(ARTIFACTS, NO_ARTIFACTS),
        migrations.RunSQL(VACUUM, DEFAULT_VACUUM),
    ]
