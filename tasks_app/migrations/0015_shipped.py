"""Remember which of our generators were offered, so that a later start offers only new ones."""

from typing import Any

from django.conf import settings
from django.db import migrations, models


def remember(apps: Any, _editor: Any) -> None:
    """Note what is there; and ``sketch``, which every first start has made since the beginning.

    A ``sketch-video`` that is missing may be of an installation from before it existed: it is
    offered once.
    """
    generators = apps.get_model("tasks_app", "Generator").objects
    users = apps.get_model(settings.AUTH_USER_MODEL).objects
    known = set(generators.values_list("name", flat=True)) & {"sketch", "sketch-video"}
    if users.exists():
        known.add("sketch")
    shipped = apps.get_model("tasks_app", "Shipped")
    shipped.objects.bulk_create([shipped(name=name) for name in sorted(known)])


class Migration(migrations.Migration):
    """Code of before does not know the table; it may run beside it."""

    dependencies = [
        ("tasks_app", "0014_remote"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Shipped",
            fields=[
                ("name", models.CharField(max_length=63, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"default_permissions": ()},
        ),
        migrations.RunPython(remember, migrations.RunPython.noop),
    ]
