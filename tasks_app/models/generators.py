"""Generators: the named offerings that users choose."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasks_app.models import bounds
from tasks_app.models.ids import new_id

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,62}$"
_name_validator = RegexValidator(
    NAME_PATTERN, _("Use lower-case letters, digits, dots, hyphens and underscores.")
)


class Generator(models.Model):
    """One offering: which adapter, with which settings, for which workers, within which limits."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(_("name"), max_length=63, unique=True, validators=[_name_validator])
    title = models.CharField(_("title"), max_length=120)
    description = models.TextField(_("description"), blank=True)
    adapter = models.CharField(_("adapter"), max_length=63)
    settings = models.JSONField(
        _("settings"),
        default=dict,
        blank=True,
        help_text=_("The adapter's own settings. Secrets are references, never values."),
    )
    kind = models.CharField(_("kind"), max_length=16, default="image")
    pool = models.CharField(
        _("pool"), max_length=63, default="default", validators=[_name_validator]
    )
    max_running = models.PositiveIntegerField(
        _("running at once"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(bounds.MOST_RUNNING)],
    )
    timeout_seconds = models.FloatField(
        _("timeout in seconds"),
        default=900,
        validators=[MinValueValidator(1), MaxValueValidator(bounds.MOST_TIMEOUT)],
    )
    expected_seconds = models.FloatField(
        _("expected seconds"),
        default=10,
        validators=[MinValueValidator(0.01), MaxValueValidator(bounds.MOST_EXPECTED)],
        help_text=_("A first guess at the length of a generation, until there is history."),
    )
    failure_budget = models.PositiveIntegerField(
        _("failure budget"),
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(bounds.MOST_FAILURES)],
        help_text=_("Attempts that may be lost or fail in a retryable way before the task fails."),
    )
    rate_per_minute = models.FloatField(
        _("starts per minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(bounds.LEAST_RATE), MaxValueValidator(bounds.MOST_RATE)],
        help_text=_("What the upstream's contract allows. Empty: no limit."),
    )
    rate_burst = models.PositiveIntegerField(
        _("starts at once"),
        default=1,
        db_default=1,
        validators=[MinValueValidator(1), MaxValueValidator(bounds.MOST_BURST)],
        help_text=_("Starts that the upstream allows at once after a pause."),
    )
    fallback = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("fallback"),
    )
    paused = models.BooleanField(
        _("paused"), default=False, help_text=_("Accepts tasks, starts none.")
    )
    enabled = models.BooleanField(
        _("offered"), default=True, help_text=_("Shown to users and accepting tasks.")
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("generator")
        verbose_name_plural = _("generators")
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                condition=Q(max_running__gte=1)
                & Q(timeout_seconds__gt=0)
                & Q(expected_seconds__gt=0)
                & Q(failure_budget__gte=1),
                name="generator_numbers_positive",
            ),
            models.CheckConstraint(
                condition=Q(max_running__lte=bounds.MOST_RUNNING)
                & Q(timeout_seconds__lte=bounds.MOST_TIMEOUT)
                & Q(expected_seconds__lte=bounds.MOST_EXPECTED)
                & Q(failure_budget__lte=bounds.MOST_FAILURES),
                name="generator_numbers_bounded",
            ),
            models.CheckConstraint(
                condition=Q(rate_burst__gte=1)
                & Q(rate_burst__lte=bounds.MOST_BURST)
                & (
                    Q(rate_per_minute__isnull=True)
                    | Q(rate_per_minute__gte=bounds.LEAST_RATE)
                    & Q(rate_per_minute__lte=bounds.MOST_RATE)
                ),
                name="generator_rate_bounded",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def rate_interval(self) -> float:
        """Seconds between two starts at the upstream's rate; 0 without a limit."""
        return 60 / self.rate_per_minute if self.rate_per_minute else 0.0


class Setup(models.Model):
    """A remote generator as it was when something was submitted by it.

    What was submitted is asked about, and canceled, at the upstream that has it, whatever the
    generator has been changed to. Rows are never changed; equal ones are one row.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    generator = models.ForeignKey(Generator, on_delete=models.CASCADE, related_name="+")
    adapter = models.CharField(max_length=63)
    settings = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=("generator", "digest"), name="setup_unique"),
        )

    def __str__(self) -> str:
        return f"{self.generator_id} {self.digest[:8]}"
