"""Find what failed without reading past everything that was canceled, and the other way round."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """One index of all that has no result becomes two."""

    dependencies = [("tasks_app", "0011_plans_and_quotas")]

    operations = [
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                fields=("state", "-id"),
                condition=Q(state__in=["failed", "timeout"]) & ~Q(error_code="canceled"),
                name="task_trouble_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                fields=("-id",), condition=Q(error_code="canceled"), name="task_canceled_newest"
            ),
        ),
        migrations.RemoveIndex(model_name="task", name="task_trouble_recent"),
    ]
