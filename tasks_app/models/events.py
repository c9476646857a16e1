"""A task's history, append-only: a trigger in the database refuses changes."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasks_app.lifecycle import EventKind
from tasks_app.models.ids import new_id
from tasks_app.models.tasks import Task


class Event(models.Model):
    """One line of history, written in the transaction of the change it tells of."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="events", db_index=False)
    at = models.DateTimeField(_("at"))
    kind = models.CharField(
        _("kind"), max_length=16, choices=[(kind.value, kind.value) for kind in EventKind]
    )
    attempt_number = models.PositiveIntegerField(_("attempt"), default=0)
    data = models.JSONField(_("data"), default=dict, blank=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("id",)
        indexes = (models.Index(fields=("task", "id"), name="event_task"),)

    def __str__(self) -> str:
        return f"{self.task_id} {self.at:%Y-%m-%d %H:%M:%S}"
