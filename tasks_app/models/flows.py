"""The fair queue's own rows: pools with their virtual time, and flows with their tags.

A flow is (pool, generator, owner, priority). Start-time fair queuing (Goyal, Vin, Cheng,
1996) gives each task a start tag; ``head_tag`` is the smallest tag of the flow's tasks that
could start now, so that a claim reads one row per flow instead of scanning the backlog.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from tasks_app.models.generators import Generator
from tasks_app.models.ids import new_id


class Pool(models.Model):
    """A pool of workers and its virtual time, which only moves forward."""

    name = models.CharField(max_length=63, primary_key=True)
    virtual_time = models.FloatField(default=0)

    def __str__(self) -> str:
        return self.name


class Flow(models.Model):
    """One stream of tasks that the fair order treats as one."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    pool = models.CharField(max_length=63)
    generator = models.ForeignKey(Generator, on_delete=models.PROTECT, related_name="+")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    priority = models.CharField(max_length=8)
    head_tag = models.FloatField(null=True)
    last_tag = models.FloatField(default=0)
    finish_tag = models.FloatField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("pool", "generator", "owner", "priority"), name="flow_unique"
            ),
        )
        indexes = (
            models.Index(
                fields=("pool", "generator", "head_tag"),
                include=("owner",),
                condition=Q(head_tag__isnull=False),
                name="flow_heads",
            ),
        )

    def __str__(self) -> str:
        return f"{self.pool}/{self.generator_id}/{self.owner_id}/{self.priority}"
