"""Artifacts: the stored files of a result."""

from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from tasks_app.models.ids import new_id
from tasks_app.models.tasks import Task


class Artifact(models.Model):
    """One stored file of a result and its thumbnail, named by storage keys."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="artifacts")
    position = models.PositiveSmallIntegerField(_("position"))
    storage_key = models.CharField(max_length=200)
    thumbnail_key = models.CharField(max_length=200)
    media_type = models.CharField(_("media type"), max_length=40)
    width = models.PositiveIntegerField(_("width"))
    height = models.PositiveIntegerField(_("height"))
    duration_seconds = models.FloatField(
        _("seconds"), null=True, blank=True, help_text=_("Of a video; empty for a picture.")
    )
    bytes = models.PositiveBigIntegerField(_("bytes"))
    sha256 = models.CharField(max_length=64)
    seed = models.BigIntegerField(_("seed"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"))
    removed_at = models.DateTimeField(_("removed"), null=True, blank=True)
    # Set once the files of a removed artifact are deleted; until then the sweep owes them that.
    files_gone_at = models.DateTimeField(null=True, blank=True, editable=False)
    # A deletion that failed is tried again then (null: at once), so that files which the storage
    # never gives up do not stand before all the others.
    files_due_at = models.DateTimeField(null=True, blank=True, editable=False)
    files_tries = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        verbose_name = _("artifact")
        verbose_name_plural = _("artifacts")
        ordering = ("task", "position")
        constraints = (
            models.UniqueConstraint(fields=("task", "position"), name="artifact_position_unique"),
            models.CheckConstraint(
                condition=models.Q(width__gte=1, height__gte=1, bytes__gte=1),
                name="artifact_not_empty",
            ),
        )
        indexes = (
            models.Index(
                Coalesce("files_due_at", "removed_at"),
                condition=models.Q(removed_at__isnull=False, files_gone_at__isnull=True),
                name="artifact_files_due",
            ),
        )

    def __str__(self) -> str:
        return f"{self.task_id}/{self.position}"
