"""Attempts: one row per execution of a task."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasks_app.lifecycle import Outcome
from tasks_app.models.generators import Setup
from tasks_app.models.ids import new_id
from tasks_app.models.tasks import Task


class Attempt(models.Model):
    """One execution.

    ``ended_at`` says when the execution was seen to have stopped, which frees its slots;
    ``revoked_at`` when it was told to stop (cancel, deadline, taken away). Between the two it
    still counts against the limits.

    A remote attempt is first submitted by a worker, which gives it heartbeats, and from then on
    asked about: ``next_poll_at`` is set. ``polls`` counts the asking and tells apart who asks:
    an answer is applied only if nobody has asked since.

    ``heartbeat_at`` and ``progress`` change often and are in no index, so that these updates
    stay heap-only.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField(_("number"))
    claim_id = models.UUIDField(unique=True)
    generator_name = models.CharField(max_length=63)
    owner_id = models.BigIntegerField()
    remote = models.BooleanField(default=False)
    worker = models.CharField(_("worker"), max_length=120, blank=True)
    started_at = models.DateTimeField(_("started"))
    heartbeat_at = models.DateTimeField(_("heartbeat"))
    progress = models.FloatField(_("progress"), default=0)
    revoked_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    outcome = models.CharField(
        _("outcome"),
        max_length=12,
        blank=True,
        choices=[(outcome.value, outcome.value) for outcome in Outcome],
    )
    error_code = models.CharField(max_length=24, blank=True)
    error_detail = models.TextField(blank=True)

    # Remote work only.
    webhook_token = models.CharField(max_length=64, blank=True)
    submit_started_at = models.DateTimeField(null=True, blank=True)
    upstream_id = models.CharField(max_length=255, blank=True)
    next_poll_at = models.DateTimeField(null=True, blank=True)
    polls = models.PositiveIntegerField(default=0)
    setup = models.ForeignKey(Setup, on_delete=models.PROTECT, null=True, related_name="+")
    poll_failures = models.PositiveIntegerField(default=0, db_default=0)
    failing_since = models.DateTimeField(null=True, blank=True)
    cancel_sent_at = models.DateTimeField(null=True, blank=True)
    webhook_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ("task", "number")
        constraints = (
            models.UniqueConstraint(fields=("task", "number"), name="attempt_number_unique"),
            models.UniqueConstraint(
                fields=("task",),
                condition=Q(ended_at__isnull=True, revoked_at__isnull=True),
                name="attempt_one_live_per_task",
            ),
            models.CheckConstraint(
                condition=(Q(ended_at__isnull=True) & Q(outcome=""))
                | (Q(ended_at__isnull=False) & ~Q(outcome="")),
                name="attempt_outcome_iff_ended",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="attempt_number_positive"),
        )
        indexes = (
            models.Index(
                fields=("started_at",), condition=Q(ended_at__isnull=True), name="attempt_live"
            ),
            models.Index(
                fields=("next_poll_at",),
                condition=Q(ended_at__isnull=True, next_poll_at__isnull=False),
                name="attempt_poll_due",
            ),
            models.Index(
                fields=("webhook_token",),
                condition=~Q(webhook_token=""),
                name="attempt_webhook_token",
            ),
        )

    def __str__(self) -> str:
        return f"{self.task_id}#{self.number}"


class Webhook(models.Model):
    """The last word of an upstream that cannot be asked: kept until the attempt has ended."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="webhook")
    received_at = models.DateTimeField()
    body = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"webhook of {self.attempt_id}"
