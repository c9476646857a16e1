"""How long a video lasts; empty for pictures, so no row has to be rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Reversible."""

    dependencies = (("tasks_app", "0003_staff_and_totals"),)
    operations = (
        migrations.AddField(
            model_name="artifact",
            name="duration_seconds",
            field=models.FloatField(
                blank=True,
                help_text="Of a video; empty for a picture.",
                null=True,
                verbose_name="seconds",
            ),
        ),
    )
