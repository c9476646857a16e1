"""The fair queue's own rows: pools and lanes with their virtual time, and flows with their tags.

A flow is (pool, generator, owner, priority), a lane all flows of one generator in one pool.
Start-time fair queuing (Goyal, Vin, Cheng, 1996) gives a flow's next task a start tag;
``head_tag`` is the tag under which the flow's first task could start now, so that a claim reads
one row per flow instead of scanning the backlog. ``core.fairness`` has the rules.
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


class Lane(models.Model):
    """One generator's flows in one pool: their own virtual time, and where it lies in the pool's.

    ``clock`` is the start tag of the last task that was started, ``shift`` what is added to a tag
    of this lane to compare it with tags of others. Both only move forward.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    pool = models.CharField(max_length=63)
    generator = models.ForeignKey(Generator, on_delete=models.CASCADE, related_name="+")
    clock = models.FloatField(default=0)
    shift = models.FloatField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("pool", "generator"), name="lane_unique"),)

    def __str__(self) -> str:
        return f"{self.pool}/{self.generator_id}"


class Flow(models.Model):
    """One stream of tasks that the fair order treats as one.

    ``finish_tag`` is where what has been started ends in virtual time, and so the start tag of
    the next task; ``last_tag`` the number within the flow of the task that entered last.
    ``head_tag`` is null while no task may start.
    """

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


class Cost(models.Model):
    """What tasks of one size have taken with a generator, in seconds: a running, robust mean.

    The row of size -1 holds, instead, how the seconds compare with the generator's first guess.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    generator = models.ForeignKey(Generator, on_delete=models.CASCADE, related_name="+")
    size = models.SmallIntegerField()
    seconds = models.FloatField()
    samples = models.PositiveIntegerField(default=1)

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("generator", "size"), name="cost_unique"),)

    def __str__(self) -> str:
        return f"{self.generator_id}/{self.size}: {self.seconds:g} s"
