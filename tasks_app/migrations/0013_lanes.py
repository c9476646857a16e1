"""Lanes with their own virtual time, shares that are paid at the start, learnt costs, rates.

Until now a flow's finish tag held the shares of everything that waited, too. From here it is
where the flow's next task starts, which was its head's tag; the numbers of tasks within a flow
go on from the last tag, so that what waits keeps its order. Lanes begin at their pool's time.
"""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

import tasks_app.models.ids

BEGIN = """
INSERT INTO tasks_app_lane (id, pool, generator_id, clock, shift)
SELECT gen_random_uuid(), flow.pool, flow.generator_id, COALESCE(max(pool.virtual_time), 0), 0
FROM tasks_app_flow AS flow LEFT JOIN tasks_app_pool AS pool ON pool.name = flow.pool
GROUP BY flow.pool, flow.generator_id;
UPDATE tasks_app_flow SET finish_tag = head_tag WHERE head_tag IS NOT NULL;
-- Rows that were changed wait for their foreign keys; a table that waits is not altered.
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
"""


class Migration(migrations.Migration):
    """Reversible: the order of what waits is then that of the numbers within the flows."""

    dependencies = [("tasks_app", "0012_canceled_is_no_trouble")]

    operations = [
        migrations.CreateModel(
            name="Cost",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=tasks_app.models.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("size", models.SmallIntegerField()),
                ("seconds", models.FloatField()),
                ("samples", models.PositiveIntegerField(default=1)),
                (
                    "generator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks_app.generator",
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.CreateModel(
            name="Lane",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=tasks_app.models.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("pool", models.CharField(max_length=63)),
                ("clock", models.FloatField(default=0)),
                ("shift", models.FloatField(default=0)),
                (
                    "generator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks_app.generator",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="cost",
            constraint=models.UniqueConstraint(fields=("generator", "size"), name="cost_unique"),
        ),
        migrations.AddConstraint(
            model_name="lane",
            constraint=models.UniqueConstraint(fields=("pool", "generator"), name="lane_unique"),
        ),
        migrations.AddField("task", "cost", models.FloatField(null=True)),
        migrations.AddField("task", "paid_by", models.UUIDField(null=True)),
        migrations.AddField("task", "paid_tag", models.FloatField(null=True)),
        migrations.AddField(
            "generator",
            "rate_per_minute",
            models.FloatField(
                blank=True,
                help_text="What the upstream's contract allows. Empty: no limit.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.01),
                    django.core.validators.MaxValueValidator(60000),
                ],
                verbose_name="starts per minute",
            ),
        ),
        migrations.AddField(
            "generator",
            "rate_burst",
            models.PositiveIntegerField(
                db_default=1,
                default=1,
                help_text="Starts that the upstream allows at once after a pause.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(10000),
                ],
                verbose_name="starts at once",
            ),
        ),
        migrations.AddConstraint(
            model_name="generator",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("rate_burst__gte", 1),
                    ("rate_burst__lte", 10000),
                    models.Q(
                        ("rate_per_minute__isnull", True),
                        models.Q(("rate_per_minute__gte", 0.01), ("rate_per_minute__lte", 60000)),
                        _connector="OR",
                    ),
                ),
                name="generator_rate_bounded",
            ),
        ),
        migrations.RunSQL(BEGIN, migrations.RunSQL.noop),
    ]
