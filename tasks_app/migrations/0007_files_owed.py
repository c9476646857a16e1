"""Removed artifacts say whether their files are still owed a deletion."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Reversible. What was removed before is looked at once more."""

    dependencies = [
        ("tasks_app", "0006_notices"),
    ]

    operations = [
        migrations.AddField(
            model_name="artifact",
            name="files_gone_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="artifact",
            index=models.Index(
                condition=models.Q(("files_gone_at__isnull", True), ("removed_at__isnull", False)),
                fields=["removed_at"],
                name="artifact_files_owed",
            ),
        ),
    ]
