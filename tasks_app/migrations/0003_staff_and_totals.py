"""Permissions of staff, indexes for their lists, and exact counts of what happens.

The trigger counts every line of history in the transaction that writes it. Ended tasks bring the
seconds from submission to end, first claims the seconds that the task waited. What is in the
history already is counted here, once.
"""

from django.conf import settings
from django.db import migrations, models

_TALLY = """
    INSERT INTO tasks_app_tally (kind, generator_id, state, code, reason, seconds)
    SELECT event.kind, task.generator_id,
           CASE WHEN event.kind IN ('succeeded', 'failed', 'timed_out', 'canceled')
                THEN task.state ELSE '' END,
           CASE WHEN event.kind IN ('failed', 'timed_out', 'canceled')
                THEN task.error_code ELSE '' END,
           CASE WHEN event.kind IN ('requeued', 'staff_action')
                THEN left(COALESCE(event.data ->> 'reason', event.data ->> 'action', ''), 32)
                ELSE '' END,
           CASE WHEN event.kind IN ('succeeded', 'failed', 'timed_out', 'canceled')
                THEN extract(epoch FROM task.finished_at - task.created_at)
                WHEN event.kind = 'claimed' AND event.attempt_number = 1
                THEN extract(epoch FROM task.started_at - task.created_at) END
    FROM {events} AS event JOIN tasks_app_task AS task ON task.id = event.task_id;
"""
COUNT = f"""
CREATE FUNCTION tasks_app_tally_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_TALLY.format(events="(SELECT NEW.*)")}
    RETURN NULL;
END $$;
CREATE TRIGGER event_tally AFTER INSERT ON tasks_app_event
    FOR EACH ROW EXECUTE FUNCTION tasks_app_tally_event();
"""
COUNT_NO_MORE = """
DROP TRIGGER event_tally ON tasks_app_event;
DROP FUNCTION tasks_app_tally_event();
"""
# Tallies live for seconds, totals change every few seconds.
VACUUM = "".join(
    f"ALTER TABLE tasks_app_{table} SET (autovacuum_vacuum_scale_factor = 0.01, "
    f"autovacuum_vacuum_threshold = 1000, fillfactor = 85);"
    for table in ("tally", "total")
)


class Migration(migrations.Migration):
    """Reversible; the totals go with their tables."""

    dependencies = [
        ("tasks_app", "0002_guards_and_defaults"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Tally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=16)),
                ("generator_id", models.UUIDField()),
                ("state", models.CharField(max_length=8)),
                ("code", models.CharField(max_length=24)),
                ("reason", models.CharField(max_length=32)),
                ("seconds", models.FloatField(null=True)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Total",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=16)),
                ("generator_id", models.UUIDField()),
                ("state", models.CharField(max_length=8)),
                ("code", models.CharField(max_length=24)),
                ("reason", models.CharField(max_length=32)),
                ("le", models.FloatField(default=-1.0)),
                ("number", models.BigIntegerField()),
                ("seconds", models.FloatField(default=0)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.AlterModelOptions(
            name="task",
            options={
                "default_permissions": ("view",),
                "permissions": (
                    ("cancel_task", "Can cancel tasks of others"),
                    ("retry_task", "Can submit tasks of others once more"),
                    ("time_out_task", "Can time tasks out"),
                    ("release_task_slots", "Can release slots of tasks"),
                ),
                "verbose_name": "task",
                "verbose_name_plural": "tasks",
            },
        ),
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
                choices=[
                    ("submitted", "submitted"),
                    ("claimed", "claimed"),
                    ("succeeded", "succeeded"),
                    ("failed", "failed"),
                    ("timed_out", "timed_out"),
                    ("canceled", "canceled"),
                    ("requeued", "requeued"),
                    ("attempt_ended", "attempt_ended"),
                    ("late_result", "late_result"),
                    ("result_removed", "result_removed"),
                    ("staff_action", "staff_action"),
                ],
                max_length=16,
                verbose_name="kind",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("state__in", ["failed", "timeout"])),
                fields=["state", "-id"],
                name="task_trouble_recent",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["generator", "-id"], name="task_generator_recent"),
        ),
        migrations.AddConstraint(
            model_name="total",
            constraint=models.UniqueConstraint(
                fields=("kind", "generator_id", "state", "code", "reason", "le"),
                name="total_unique",
            ),
        ),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
        migrations.RunSQL(_TALLY.format(events="tasks_app_event"), migrations.RunSQL.noop),
        migrations.RunSQL(COUNT, COUNT_NO_MORE),
    ]
