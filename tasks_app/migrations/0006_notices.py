"""When users last looked at their tasks, and an index for what has ended since."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Reversible: what is lost is which tasks were news."""

    dependencies = (("tasks_app", "0005_signs"),)
    operations = (
        migrations.AddField(
            model_name="account",
            name="seen_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                fields=["owner", "finished_at"],
                condition=models.Q(("finished_at__isnull", False)),
                name="task_owner_finished",
            ),
        ),
    )
