"""What has happened so far, counted exactly: a trigger on the history feeds these tables.

Every line of history leaves one ``Tally`` in its own transaction, so it is counted if and only
if it happened. Inserts do not wait for each other, where one row of counters would be locked by
every transition. The ticker folds tallies into ``Total``; a reader adds up both.
"""

from django.db import models

NO_MEASURE = -1.0
"""``Total.le`` of what is counted but not measured."""


class Tally(models.Model):
    """One line of history that has not been added to the totals yet."""

    kind = models.CharField(max_length=16)
    generator_id = models.UUIDField()
    state = models.CharField(max_length=8)
    code = models.CharField(max_length=24)
    reason = models.CharField(max_length=32)
    seconds = models.FloatField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.kind


class Total(models.Model):
    """How often something happened, by what it was and in which bucket its seconds fell.

    ``le`` is the bucket's upper bound. Only ``number`` and ``seconds`` change, and neither is
    indexed, so that these updates stay heap-only.
    """

    kind = models.CharField(max_length=16)
    generator_id = models.UUIDField()
    state = models.CharField(max_length=8)
    code = models.CharField(max_length=24)
    reason = models.CharField(max_length=32)
    le = models.FloatField(default=NO_MEASURE)
    number = models.BigIntegerField()
    seconds = models.FloatField(default=0)

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("kind", "generator_id", "state", "code", "reason", "le"),
                name="total_unique",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.number}"
