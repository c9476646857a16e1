"""Remote work: setups that submissions were made with, failing polls, kept webhooks."""

import django.db.models.deletion
from django.db import migrations, models

import tasks_app.models.ids


class Migration(migrations.Migration):
    """Reversible. Code of before does not know the columns; it may run beside it."""

    dependencies = [
        ("tasks_app", "0013_lanes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
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
                ("received_at", models.DateTimeField()),
                ("body", models.BinaryField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.AddField(
            model_name="attempt",
            name="cancel_sent_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="attempt",
            name="failing_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="attempt",
            name="poll_failures",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="attempt",
            name="webhook_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="Setup",
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
                ("adapter", models.CharField(max_length=63)),
                ("settings", models.JSONField(default=dict)),
                ("digest", models.CharField(max_length=64)),
                (
                    "generator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks_app.generator",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.AddField(
            model_name="attempt",
            name="setup",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tasks_app.setup",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("webhook_token", ""), _negated=True),
                fields=["webhook_token"],
                name="attempt_webhook_token",
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="attempt",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="webhook",
                to="tasks_app.attempt",
            ),
        ),
        migrations.AddConstraint(
            model_name="setup",
            constraint=models.UniqueConstraint(fields=("generator", "digest"), name="setup_unique"),
        ),
    ]
