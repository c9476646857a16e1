"""The task table: the queue itself, and the record of what was asked for and what became of it."""

from datetime import UTC, date

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from tasks_app.lifecycle import TERMINAL, ErrorCode, Priority, State
from tasks_app.models.flows import Flow
from tasks_app.models.generators import Generator
from tasks_app.models.ids import new_id

_FINISHED = Q(state__in=sorted(TERMINAL))


class Task(models.Model):
    """One generation request.

    ``attempt_number`` is the fencing token: every change of state names the number it expects.
    ``version`` grows with every change and orders snapshots. ``tag`` orders the tasks of a flow;
    ``cost`` is how many seconds it was expected to take. A task that has started has paid for
    it: ``paid_tag`` is the start tag, ``share`` what was added to the finish tag of ``paid_by``,
    the flow whose turn it was (null again once what it took is settled). ``not_before`` holds a
    pending task back (null: it may start now). ``failures`` counts spent failure budget.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="tasks",
        verbose_name=_("owner"),
    )
    generator = models.ForeignKey(
        Generator, on_delete=models.PROTECT, related_name="tasks", verbose_name=_("generator")
    )
    flow = models.ForeignKey(Flow, on_delete=models.PROTECT, related_name="+", db_index=False)
    pool = models.CharField(_("pool"), max_length=63)
    state = models.CharField(
        _("state"),
        max_length=8,
        choices=[(state.value, state.value) for state in State],
        default=State.PENDING.value,
    )
    version = models.PositiveIntegerField(default=1)
    priority = models.CharField(
        _("priority"),
        max_length=8,
        choices=[(priority.value, priority.value) for priority in Priority],
        default=Priority.NORMAL.value,
    )
    params = models.JSONField(_("parameters"))
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    allow_degraded = models.BooleanField(default=False)
    degraded = models.BooleanField(_("degraded"), default=False)
    request_id = models.CharField(max_length=64, blank=True)
    # "": the account's default address, if it has one when there is something to tell.
    callback_url = models.CharField(max_length=2_000, blank=True, default="", db_default="")
    callback_running = models.BooleanField(default=False, db_default=False)
    retry_of = models.UUIDField(null=True, blank=True)

    tag = models.FloatField()
    share = models.FloatField()
    cost = models.FloatField(null=True)
    paid_tag = models.FloatField(null=True)
    paid_by = models.UUIDField(null=True)
    attempt_number = models.PositiveIntegerField(_("attempts"), default=0)
    failures = models.PositiveIntegerField(_("failures"), default=0)
    max_wait = models.FloatField()

    created_at = models.DateTimeField(_("created"))
    not_before = models.DateTimeField(null=True, blank=True)
    give_up_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    error_code = models.CharField(
        _("error"),
        max_length=24,
        blank=True,
        choices=[(code.value, code.value) for code in ErrorCode],
    )
    error_detail = models.TextField(blank=True)
    result_count = models.PositiveIntegerField(default=0)
    result_expires_at = models.DateTimeField(null=True, blank=True)
    result_removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        # Nobody adds, changes or deletes a task by hand: staff look, or do one of these.
        default_permissions = ("view",)
        permissions = (
            ("cancel_task", _("Can cancel tasks of others")),
            ("retry_task", _("Can submit tasks of others once more")),
            ("time_out_task", _("Can time tasks out")),
            ("release_task_slots", _("Can release slots of tasks")),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in State]), name="task_state_known"
            ),
            models.CheckConstraint(
                condition=(_FINISHED & Q(finished_at__isnull=False))
                | (~_FINISHED & Q(finished_at__isnull=True)),
                name="task_finished_at_iff_terminal",
            ),
            models.CheckConstraint(
                condition=~Q(state="success")
                | (
                    Q(result_count__gte=1)
                    & Q(result_expires_at__isnull=False)
                    & Q(attempt_number__gte=1)
                ),
                name="task_success_has_result",
            ),
            models.CheckConstraint(
                condition=Q(state="success")
                | (
                    Q(result_count=0)
                    & Q(result_expires_at__isnull=True)
                    & Q(result_removed_at__isnull=True)
                ),
                name="task_result_only_on_success",
            ),
            models.CheckConstraint(
                condition=(Q(state__in=["failed", "timeout"]) & ~Q(error_code=""))
                | (~Q(state__in=["failed", "timeout"]) & Q(error_code="")),
                name="task_error_iff_failed",
            ),
            models.CheckConstraint(
                condition=~Q(state="running")
                | (
                    Q(started_at__isnull=False)
                    & Q(deadline_at__isnull=False)
                    & Q(attempt_number__gte=1)
                ),
                name="task_running_has_deadline",
            ),
            models.CheckConstraint(
                condition=~Q(state="pending")
                | (Q(give_up_at__isnull=False) & Q(deadline_at__isnull=True)),
                name="task_pending_gives_up",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(finished_at__gte=F("created_at")),
                name="task_finishes_after_creation",
            ),
        )
        indexes = (
            # The queue: a flow's tasks in order, and a pool's backlog in order.
            models.Index(
                fields=("flow", "tag", "id"),
                condition=Q(state="pending", not_before__isnull=True),
                name="task_flow_ready",
            ),
            models.Index(
                fields=("pool", "tag"),
                condition=Q(state="pending", not_before__isnull=True),
                name="task_pool_ready",
            ),
            # What is due when.
            models.Index(
                fields=("not_before",),
                condition=Q(state="pending", not_before__isnull=False),
                name="task_not_before",
            ),
            models.Index(fields=("give_up_at",), condition=Q(state="pending"), name="task_give_up"),
            models.Index(
                fields=("deadline_at",), condition=Q(state="running"), name="task_deadline"
            ),
            # What an owner sees and how much of it is open.
            models.Index(fields=("owner", "-id"), name="task_owner_recent"),
            models.Index(fields=("owner", "state", "-id"), name="task_owner_state"),
            models.Index(
                fields=("owner",),
                condition=Q(state__in=["pending", "running"]),
                name="task_owner_open",
            ),
            # What ended while its owner was away.
            models.Index(
                fields=("owner", "finished_at"),
                condition=Q(finished_at__isnull=False),
                name="task_owner_finished",
            ),
            # Recent durations of a generator, for estimates.
            models.Index(
                fields=("generator", "-finished_at"),
                condition=Q(state="success"),
                name="task_recent_success",
            ),
            # What staff look for among all tasks; the newest are found by the primary key.
            models.Index(
                fields=("state", "-id"),
                condition=Q(state__in=["failed", "timeout"]) & ~Q(error_code="canceled"),
                name="task_trouble_newest",
            ),
            models.Index(
                fields=("-id",), condition=Q(error_code="canceled"), name="task_canceled_newest"
            ),
            models.Index(fields=("generator", "-id"), name="task_generator_recent"),
            models.Index(
                fields=("result_expires_at",),
                condition=Q(result_expires_at__isnull=False, result_removed_at__isnull=True),
                name="task_result_expiry",
            ),
            # What may leave for the archive: ended, and no result that is still kept.
            models.Index(
                fields=("finished_at", "id"),
                condition=Q(finished_at__isnull=False)
                & (Q(result_expires_at__isnull=True) | Q(result_removed_at__isnull=False)),
                name="task_archivable",
            ),
        )

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def counted_on(self) -> date:
        """The day (UTC) whose count it is part of."""
        return self.created_at.astimezone(UTC).date()

    @property
    def terminal(self) -> bool:
        """Whether the state is final."""
        return State(self.state) in TERMINAL
