"""How each upstream bears up."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Reversible. Code of before does not know the table; it may run beside it."""

    dependencies = [
        ("tasks_app", "0015_shipped"),
    ]

    operations = [
        migrations.CreateModel(
            name="Pressure",
            fields=[
                (
                    "generator",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="pressure",
                        serialize=False,
                        to="tasks_app.generator",
                    ),
                ),
                ("limit", models.FloatField(null=True)),
                ("clean_run", models.PositiveIntegerField(default=0)),
                ("lowered_at", models.DateTimeField(null=True)),
                ("hold_until", models.DateTimeField(null=True)),
                ("window", models.JSONField(default=list)),
                ("tokens", models.FloatField(default=10.0)),
                ("open_until", models.DateTimeField(null=True)),
                ("open_seconds", models.FloatField(default=0.0)),
                ("probe_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_permissions": (),
            },
        ),
    ]
