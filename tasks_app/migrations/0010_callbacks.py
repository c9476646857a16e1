"""Callbacks: the outbox, its log, addresses and secrets; and where a task's are to go."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import tasks_app.models.ids

# Rows of the outbox change a few times each and are then at rest for weeks.
VACUUM = """
ALTER TABLE tasks_app_callback SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1, fillfactor = 85
);
"""
NO_VACUUM = """
ALTER TABLE tasks_app_callback RESET (
    autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
    autovacuum_analyze_scale_factor, autovacuum_vacuum_cost_delay, fillfactor
);
"""


class Migration(migrations.Migration):
    """Reversible. Code of before does not know the tables; it may run beside it."""

    dependencies = [
        ("tasks_app", "0009_archive"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="callback_running",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="task",
            name="callback_url",
            field=models.CharField(blank=True, db_default="", default="", max_length=2000),
        ),
        migrations.CreateModel(
            name="Callback",
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
                ("task_id", models.UUIDField(blank=True, null=True, verbose_name="task")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("task.running", "task.running"),
                            ("task.success", "task.success"),
                            ("task.failed", "task.failed"),
                            ("task.timeout", "task.timeout"),
                            ("test", "test"),
                        ],
                        max_length=16,
                        verbose_name="event",
                    ),
                ),
                ("url", models.CharField(max_length=2000, verbose_name="address")),
                ("lane", models.CharField(max_length=260)),
                ("body", models.BinaryField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("delivered", "delivered"),
                            ("exhausted", "exhausted"),
                            ("disabled", "disabled"),
                        ],
                        default="pending",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0, verbose_name="attempts")),
                ("failures", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(verbose_name="created")),
                (
                    "next_attempt_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="next attempt"),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended")),
                (
                    "last_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="last attempt"),
                ),
                (
                    "last_outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("delivered", "delivered"),
                            ("refused", "refused"),
                            ("redirected", "redirected"),
                            ("gone", "gone"),
                            ("forbidden", "forbidden"),
                            ("unknown_host", "unknown_host"),
                            ("no_connection", "no_connection"),
                            ("bad_tls", "bad_tls"),
                            ("no_answer", "no_answer"),
                            ("too_slow", "too_slow"),
                        ],
                        max_length=16,
                        verbose_name="outcome",
                    ),
                ),
                (
                    "last_status",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="status"),
                ),
                ("redelivered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="callbacks",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
            ],
            options={
                "verbose_name": "callback",
                "verbose_name_plural": "callbacks",
                "permissions": (("redeliver_callback", "Can deliver callbacks again"),),
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="CallbackAddress",
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
                ("url", models.CharField(max_length=2000, verbose_name="address")),
                ("is_default", models.BooleanField(default=False, verbose_name="default")),
                (
                    "with_running",
                    models.BooleanField(default=False, verbose_name="also when tasks start"),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                (
                    "disabled_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="disabled"),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="callback_addresses",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
            ],
            options={
                "verbose_name": "callback address",
                "verbose_name_plural": "callback addresses",
                "default_permissions": ("view", "change"),
            },
        ),
        migrations.CreateModel(
            name="CallbackAttempt",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("at", models.DateTimeField(verbose_name="time")),
                ("seconds", models.FloatField(verbose_name="seconds")),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("delivered", "delivered"),
                            ("refused", "refused"),
                            ("redirected", "redirected"),
                            ("gone", "gone"),
                            ("forbidden", "forbidden"),
                            ("unknown_host", "unknown_host"),
                            ("no_connection", "no_connection"),
                            ("bad_tls", "bad_tls"),
                            ("no_answer", "no_answer"),
                            ("too_slow", "too_slow"),
                        ],
                        max_length=16,
                        verbose_name="outcome",
                    ),
                ),
                (
                    "status",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="status"),
                ),
                ("answer", models.TextField(blank=True, verbose_name="answer")),
                (
                    "callback",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="tasks_app.callback",
                    ),
                ),
            ],
            options={
                "verbose_name": "delivery attempt",
                "verbose_name_plural": "delivery attempts",
                "ordering": ("callback", "number"),
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="CallbackSecret",
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
                ("sealed", models.TextField()),
                ("key_print", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("retires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="callback_secrets",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["next_attempt_at"],
                name="callback_due",
            ),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["lane", "next_attempt_at"],
                name="callback_lane_due",
            ),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(fields=["owner", "-id"], name="callback_owner_recent"),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(
                condition=models.Q(("state__in", ["exhausted", "disabled"])),
                fields=["owner", "-id"],
                name="callback_owner_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["owner", "url"],
                name="callback_owner_pending",
            ),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(fields=["task_id"], name="callback_of_task"),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(
                condition=models.Q(("state__in", ["exhausted", "disabled"])),
                fields=["-id"],
                name="callback_trouble_recent",
            ),
        ),
        migrations.AddConstraint(
            model_name="callback",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["pending", "delivered", "exhausted", "disabled"])
                ),
                name="callback_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="callback",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("ended_at__isnull", True),
                        ("next_attempt_at__isnull", False),
                        ("state", "pending"),
                    ),
                    models.Q(
                        models.Q(("state", "pending"), _negated=True),
                        ("ended_at__isnull", False),
                        ("next_attempt_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="callback_due_iff_pending",
            ),
        ),
        migrations.AddIndex(
            model_name="callbackaddress",
            index=models.Index(
                condition=models.Q(("disabled_at__isnull", False)),
                fields=["owner", "-disabled_at"],
                name="callback_address_disabled",
            ),
        ),
        migrations.AddConstraint(
            model_name="callbackaddress",
            constraint=models.UniqueConstraint(
                fields=("owner", "url"), name="callback_address_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="callbackaddress",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)),
                fields=("owner",),
                name="callback_address_one_default",
            ),
        ),
        migrations.AddConstraint(
            model_name="callbackattempt",
            constraint=models.UniqueConstraint(
                fields=("callback", "number"), name="callback_attempt_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="callbacksecret",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retires_at__isnull", True)),
                fields=("owner",),
                name="callback_secret_one_current",
            ),
        ),
        migrations.RunSQL(VACUUM, NO_VACUUM),
    ]
