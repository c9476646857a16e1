"""Where hosts say that a chore was done, for the doctor."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Code of before does not know the table; it may run beside it."""

    dependencies = [("tasks_app", "0004_artifact_duration")]

    operations = [
        migrations.CreateModel(
            name="Sign",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("chore", models.CharField(max_length=16)),
                ("host", models.CharField(max_length=253)),
                ("key_print", models.CharField(max_length=16)),
                ("at", models.DateTimeField()),
            ],
            options={"default_permissions": ()},
        ),
        migrations.AddConstraint(
            model_name="sign",
            constraint=models.UniqueConstraint(fields=("chore", "host"), name="sign_unique"),
        ),
    ]
