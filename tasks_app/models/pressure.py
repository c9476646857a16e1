"""How each upstream bears up: what it takes at once, and whether it is asked at all.

In the database, not in Redis: what has been learnt survives a restart of everything, and every
worker of every host acts on the same row.
"""

from django.db import models

from tasks_app.models.generators import Generator


class Pressure(models.Model):
    """One generator's row; ``core.pressure`` says what its columns mean and how they change."""

    generator = models.OneToOneField(
        Generator, on_delete=models.CASCADE, primary_key=True, related_name="pressure"
    )
    limit = models.FloatField(null=True)
    clean_run = models.PositiveIntegerField(default=0)
    lowered_at = models.DateTimeField(null=True)
    hold_until = models.DateTimeField(null=True)
    window = models.JSONField(default=list)
    tokens = models.FloatField(default=10.0)
    open_until = models.DateTimeField(null=True)
    open_seconds = models.FloatField(default=0.0)
    probe_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"pressure on {self.generator_id}"
