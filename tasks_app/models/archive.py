"""The archive: ended tasks of long ago, each with its whole history in one row."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from tasks_app.lifecycle import TERMINAL
from tasks_app.models.generators import Generator


class ArchivedTask(models.Model):
    """A task that ended, moved out of the table that is the queue.

    What tasks are looked for by has columns of the task's own names. ``row`` holds the task's
    other columns, ``attempts``, ``events`` and ``artifacts`` the rows that went along, all as
    PostgreSQL's ``to_jsonb`` wrote them: a column that a later release adds has its default when
    an older row is read. A row is written once, by ``maintenance.archive``, and never changed.

    Artifacts are found by an index on their ids, which Django has no words for: see migration 0009.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="archived_tasks",
        verbose_name=_("owner"),
        db_index=False,
    )
    generator = models.ForeignKey(
        Generator,
        on_delete=models.PROTECT,
        related_name="archived_tasks",
        verbose_name=_("generator"),
        db_index=False,
    )
    state = models.CharField(
        _("state"), max_length=8, choices=[(state.value, state.value) for state in sorted(TERMINAL)]
    )
    error_code = models.CharField(_("error"), max_length=24, blank=True)
    created_at = models.DateTimeField(_("created"))
    finished_at = models.DateTimeField(_("finished"))
    archived_at = models.DateTimeField(_("archived"))
    params = models.JSONField(_("parameters"))
    row = models.JSONField()
    attempts = models.JSONField(_("attempts"))
    events = models.JSONField(_("events"))
    artifacts = models.JSONField(_("artifacts"))

    class Meta:
        verbose_name = _("archived task")
        verbose_name_plural = _("archived tasks")
        default_permissions = ("view",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=sorted(TERMINAL)), name="archivedtask_ended"
            ),
        )
        indexes = (
            models.Index(fields=("owner", "-id"), name="archivedtask_owner_recent"),
            models.Index(fields=("owner", "state", "-id"), name="archivedtask_owner_state"),
            models.Index(fields=("generator", "-id"), name="archivedtask_generator"),
            models.Index(fields=("state", "-id"), name="archivedtask_state"),
        )

    def __str__(self) -> str:
        return str(self.pk)
