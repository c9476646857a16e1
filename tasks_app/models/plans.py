"""Plans (named sets of limits) and accounts (a user's plan and what differs for that user)."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasks_app.models import bounds
from tasks_app.models.ids import new_id

_OPEN = [MaxValueValidator(bounds.MOST_OPEN)]
_RUNNING = [MaxValueValidator(bounds.MOST_RUNNING)]
_INTERVAL = [MinValueValidator(0), MaxValueValidator(bounds.MOST_INTERVAL)]
_BURST = [MinValueValidator(1), MaxValueValidator(bounds.MOST_BURST)]
_WEIGHT = [MinValueValidator(bounds.LEAST_WEIGHT), MaxValueValidator(bounds.MOST_WEIGHT)]


class Plan(models.Model):
    """A named set of limits. Exactly one plan is the default for new users."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(_("name"), max_length=64, unique=True)
    is_default = models.BooleanField(_("default for new users"), default=False)
    max_open = models.PositiveIntegerField(
        _("open tasks"),
        default=30,
        validators=_OPEN,
        help_text=_("Pending and running tasks a user may have."),
    )
    max_running = models.PositiveIntegerField(
        _("running tasks"),
        default=3,
        validators=_RUNNING,
        help_text=_("Tasks of a user that run at the same time."),
    )
    submit_interval = models.FloatField(
        _("seconds per submission"),
        default=10,
        validators=_INTERVAL,
        help_text=_("Sustained rate: one submission every so many seconds. 0: no limit."),
    )
    submit_burst = models.PositiveIntegerField(
        _("burst"),
        default=3,
        validators=_BURST,
        help_text=_("Submissions allowed at once after a pause."),
    )
    weight = models.FloatField(
        _("weight"),
        default=1,
        validators=_WEIGHT,
        help_text=_("Share of the workers relative to other users; 2 gets twice as much as 1."),
    )

    class Meta:
        verbose_name = _("plan")
        verbose_name_plural = _("plans")
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("is_default",), condition=Q(is_default=True), name="plan_one_default"
            ),
            models.CheckConstraint(condition=Q(weight__gt=0), name="plan_weight_positive"),
            models.CheckConstraint(
                condition=Q(submit_interval__gte=0) & Q(submit_burst__gte=1),
                name="plan_submit_rate_sane",
            ),
            models.CheckConstraint(condition=bounds.limits(), name="plan_limits_bounded"),
        )

    def __str__(self) -> str:
        return self.name


class Account(models.Model):
    """A user's plan, the limits that differ from it, and the state of the submit rate."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="account",
        verbose_name=_("user"),
    )
    plan = models.ForeignKey(
        Plan, on_delete=models.PROTECT, related_name="accounts", verbose_name=_("plan")
    )
    max_open = models.PositiveIntegerField(_("open tasks"), null=True, blank=True, validators=_OPEN)
    max_running = models.PositiveIntegerField(
        _("running tasks"), null=True, blank=True, validators=_RUNNING
    )
    submit_interval = models.FloatField(
        _("seconds per submission"), null=True, blank=True, validators=_INTERVAL
    )
    submit_burst = models.PositiveIntegerField(_("burst"), null=True, blank=True, validators=_BURST)
    weight = models.FloatField(_("weight"), null=True, blank=True, validators=_WEIGHT)
    # Theoretical arrival time of the generic cell rate algorithm: the whole state of the
    # submit rate is this one column of a row that the submission locks anyway.
    submit_tat = models.DateTimeField(null=True, blank=True, editable=False)
    # What ended later is news to the user; see ``core.notices``.
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("account")
        verbose_name_plural = _("accounts")
        constraints = (
            models.CheckConstraint(
                condition=Q(weight__isnull=True) | Q(weight__gt=0), name="account_weight_positive"
            ),
            models.CheckConstraint(
                condition=(Q(submit_interval__isnull=True) | Q(submit_interval__gte=0))
                & (Q(submit_burst__isnull=True) | Q(submit_burst__gte=1)),
                name="account_submit_rate_sane",
            ),
            models.CheckConstraint(
                condition=bounds.limits(optional=True), name="account_limits_bounded"
            ),
        )

    def __str__(self) -> str:
        return str(self.user)
