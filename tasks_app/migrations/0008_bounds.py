"""Bounds for the numbers of staff, settings that are objects, and a fair order that is finite.

Rows beyond the bounds are brought to them. Generators whose settings are no object, or nested
without end, are withdrawn: they took their page down and never worked.
"""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models

CLAMP = (
    """
UPDATE tasks_app_generator SET
    max_running = LEAST(max_running, 100000),
    timeout_seconds = LEAST(timeout_seconds, 604800),
    expected_seconds = LEAST(expected_seconds, 86400),
    failure_budget = LEAST(failure_budget, 1000)
WHERE max_running > 100000 OR timeout_seconds > 604800 OR expected_seconds > 86400
   OR failure_budget > 1000;
"""
    + "".join(
        """
UPDATE tasks_app_TABLE SET
    max_open = CASE WHEN max_open > 1000000 THEN 1000000 ELSE max_open END,
    max_running = CASE WHEN max_running > 100000 THEN 100000 ELSE max_running END,
    submit_interval = CASE WHEN submit_interval > 86400 THEN 86400 ELSE submit_interval END,
    submit_burst = CASE WHEN submit_burst > 10000 THEN 10000 ELSE submit_burst END,
    weight = CASE WHEN weight > 1000 THEN 1000 WHEN weight < 0.01 THEN 0.01 ELSE weight END
WHERE max_open > 1000000 OR max_running > 100000 OR submit_interval > 86400
   OR submit_burst > 10000 OR weight > 1000 OR weight < 0.01;
""".replace("TABLE", table)
        for table in ("plan", "account")
    )
    + """
UPDATE tasks_app_account SET submit_tat = NULL WHERE submit_tat > now() + interval '365 days';
"""
)

# Where sums went beyond what a float can count in seconds, the order begins anew.
FINITE = """
UPDATE tasks_app_task SET share = 0 WHERE state IN ('pending', 'running') AND share > 1e12;
UPDATE tasks_app_task SET tag = 0 WHERE state IN ('pending', 'running') AND abs(tag) > 1e12;
UPDATE tasks_app_flow SET
    head_tag = CASE WHEN head_tag IS NOT NULL THEN 0 END, last_tag = 0, finish_tag = 0
WHERE abs(head_tag) > 1e12 OR abs(last_tag) > 1e12 OR abs(finish_tag) > 1e12;
UPDATE tasks_app_pool SET virtual_time = 0 WHERE abs(virtual_time) > 1e12;
"""

# No model field says this, so that a form need not ask the database.
OBJECTS = """
UPDATE tasks_app_generator SET settings = '{}', enabled = false
WHERE jsonb_typeof(settings) <> 'object' OR jsonb_path_exists(settings, '$.**{64}');
-- Rows that were changed twice wait for their foreign keys; a table that waits is not altered.
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
ALTER TABLE tasks_app_generator ADD CONSTRAINT generator_settings_object CHECK (
    jsonb_typeof(settings) = 'object' AND NOT jsonb_path_exists(settings, '$.**{64}')
);
"""
NOT_OBJECTS = "ALTER TABLE tasks_app_generator DROP CONSTRAINT generator_settings_object;"


class Migration(migrations.Migration):
    """Reversible; what was beyond the bounds stays within them."""

    dependencies = [
        ("tasks_app", "0007_files_owed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(CLAMP, migrations.RunSQL.noop),
        migrations.RunSQL(FINITE, migrations.RunSQL.noop),
        migrations.RunSQL(OBJECTS, NOT_OBJECTS),
        migrations.AlterField(
            model_name="account",
            name="max_open",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                validators=[MaxValueValidator(1000000)],
                verbose_name="open tasks",
            ),
        ),
        migrations.AlterField(
            model_name="account",
            name="max_running",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                validators=[MaxValueValidator(100000)],
                verbose_name="running tasks",
            ),
        ),
        migrations.AlterField(
            model_name="account",
            name="submit_burst",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                validators=[MinValueValidator(1), MaxValueValidator(10000)],
                verbose_name="burst",
            ),
        ),
        migrations.AlterField(
            model_name="account",
            name="submit_interval",
            field=models.FloatField(
                blank=True,
                null=True,
                validators=[MinValueValidator(0), MaxValueValidator(86400)],
                verbose_name="seconds per submission",
            ),
        ),
        migrations.AlterField(
            model_name="account",
            name="weight",
            field=models.FloatField(
                blank=True,
                null=True,
                validators=[MinValueValidator(0.01), MaxValueValidator(1000)],
                verbose_name="weight",
            ),
        ),
        migrations.AlterField(
            model_name="generator",
            name="expected_seconds",
            field=models.FloatField(
                default=10,
                help_text="A first guess at the length of a generation, until there is history.",
                validators=[MinValueValidator(0.01), MaxValueValidator(86400)],
                verbose_name="expected seconds",
            ),
        ),
        migrations.AlterField(
            model_name="generator",
            name="failure_budget",
            field=models.PositiveIntegerField(
                default=3,
                help_text="Attempts that may be lost or fail in a retryable way before the task fails.",  # noqa: E501
                validators=[MinValueValidator(1), MaxValueValidator(1000)],
                verbose_name="failure budget",
            ),
        ),
        migrations.AlterField(
            model_name="generator",
            name="max_running",
            field=models.PositiveIntegerField(
                default=5,
                validators=[MinValueValidator(1), MaxValueValidator(100000)],
                verbose_name="running at once",
            ),
        ),
        migrations.AlterField(
            model_name="generator",
            name="timeout_seconds",
            field=models.FloatField(
                default=900,
                validators=[MinValueValidator(1), MaxValueValidator(604800)],
                verbose_name="timeout in seconds",
            ),
        ),
        migrations.AlterField(
            model_name="plan",
            name="max_open",
            field=models.PositiveIntegerField(
                default=30,
                help_text="Pending and running tasks a user may have.",
                validators=[MaxValueValidator(1000000)],
                verbose_name="open tasks",
            ),
        ),
        migrations.AlterField(
            model_name="plan",
            name="max_running",
            field=models.PositiveIntegerField(
                default=3,
                help_text="Tasks of a user that run at the same time.",
                validators=[MaxValueValidator(100000)],
                verbose_name="running tasks",
            ),
        ),
        migrations.AlterField(
            model_name="plan",
            name="submit_burst",
            field=models.PositiveIntegerField(
                default=3,
                help_text="Submissions allowed at once after a pause.",
                validators=[MinValueValidator(1), MaxValueValidator(10000)],
                verbose_name="burst",
            ),
        ),
        migrations.AlterField(
            model_name="plan",
            name="submit_interval",
            field=models.FloatField(
                default=10,
                help_text="Sustained rate: one submission every so many seconds. 0: no limit.",
                validators=[MinValueValidator(0), MaxValueValidator(86400)],
                verbose_name="seconds per submission",
            ),
        ),
        migrations.AlterField(
            model_name="plan",
            name="weight",
            field=models.FloatField(
                default=1,
                help_text="Share of the workers relative to other users; 2 gets twice as much as 1.",  # noqa: E501
                validators=[MinValueValidator(0.01), MaxValueValidator(1000)],
                verbose_name="weight",
            ),
        ),
        migrations.AddConstraint(
            model_name="account",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("max_open__isnull", True), ("max_open__lte", 1000000), _connector="OR"
                    ),
                    models.Q(
                        ("max_running__isnull", True), ("max_running__lte", 100000), _connector="OR"
                    ),
                    models.Q(
                        ("submit_interval__isnull", True),
                        ("submit_interval__lte", 86400),
                        _connector="OR",
                    ),
                    models.Q(
                        ("submit_burst__isnull", True),
                        ("submit_burst__lte", 10000),
                        _connector="OR",
                    ),
                    models.Q(("weight__isnull", True), ("weight__lte", 1000), _connector="OR"),
                    models.Q(("weight__isnull", True), ("weight__gte", 0.01), _connector="OR"),
                ),
                name="account_limits_bounded",
            ),
        ),
        migrations.AddConstraint(
            model_name="generator",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_running__lte", 100000),
                    ("timeout_seconds__lte", 604800),
                    ("expected_seconds__lte", 86400),
                    ("failure_budget__lte", 1000),
                ),
                name="generator_numbers_bounded",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_open__lte", 1000000),
                    ("max_running__lte", 100000),
                    ("submit_interval__lte", 86400),
                    ("submit_burst__lte", 10000),
                    ("weight__lte", 1000),
                    ("weight__gte", 0.01),
                ),
                name="plan_limits_bounded",
            ),
        ),
    ]
