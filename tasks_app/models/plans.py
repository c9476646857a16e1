"""Plans (named sets of limits), who has which, and what differs for one account.

Which plan holds is decided in one place, by triggers of migration 0011, so that whatever changes
a row (the admin, a script, a login library that puts users into groups) has its effect at once:
``Account.plan`` is the account's own plan; else the one with the highest rank among those of the
user's groups (then the first by name); else the default plan.
"""

from collections.abc import Collection
from typing import Final

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasks_app.lifecycle import Priority
from tasks_app.models import bounds
from tasks_app.models.generators import Generator
from tasks_app.models.ids import new_id

DECIDING: Final = 0x6461726B706C616E
"""The advisory lock of whoever decides which plans hold: one at a time (migration 0017)."""

_OPEN = [MaxValueValidator(bounds.MOST_OPEN)]
_RUNNING = [MaxValueValidator(bounds.MOST_RUNNING)]
_INTERVAL = [MinValueValidator(0), MaxValueValidator(bounds.MOST_INTERVAL)]
_BURST = [MinValueValidator(1), MaxValueValidator(bounds.MOST_BURST)]
_WEIGHT = [MinValueValidator(bounds.LEAST_WEIGHT), MaxValueValidator(bounds.MOST_WEIGHT)]
_COUNTED = [MaxValueValidator(bounds.MOST_COUNTED)]
_PICTURES = [MinValueValidator(1), MaxValueValidator(bounds.MOST_PICTURES)]
_SIDE = [MinValueValidator(1), MaxValueValidator(bounds.MOST_SIDE)]
_WAIT = [MinValueValidator(1), MaxValueValidator(bounds.MOST_WAIT)]
_RESULT_DAYS = [
    MinValueValidator(bounds.LEAST_RESULT_DAYS),
    MaxValueValidator(bounds.MOST_RESULT_DAYS),
]
_PRIORITIES = [
    (Priority.HIGH.value, _("high")),
    (Priority.NORMAL.value, _("normal")),
    (Priority.LOW.value, _("low")),
]


class Quotas(models.Model):
    """Limits that may be left out: by an account (the plan's hold), by a plan (there is none)."""

    max_day = models.PositiveIntegerField(
        _("tasks per day"),
        null=True,
        blank=True,
        validators=_COUNTED,
        help_text=_("From midnight to midnight UTC. Empty: no limit."),
    )
    max_month = models.PositiveIntegerField(
        _("tasks per month"),
        null=True,
        blank=True,
        validators=_COUNTED,
        help_text=_("From the first of a month, UTC. Empty: no limit."),
    )
    max_priority = models.CharField(  # noqa: DJ001 - no limit is not a name of one
        _("highest priority"), max_length=8, null=True, blank=True, choices=_PRIORITIES
    )
    max_n = models.PositiveIntegerField(
        _("most pictures per task"),
        null=True,
        blank=True,
        validators=_PICTURES,
        help_text=_("The parameter n. Empty: as many as the generator makes."),
    )
    max_side = models.PositiveIntegerField(
        _("longest side in pixels"),
        null=True,
        blank=True,
        validators=_SIDE,
        help_text=_(
            "The parameters width and height. Empty: as large as the generator makes them."
        ),
    )
    max_wait = models.FloatField(
        _("longest wait in seconds"),
        null=True,
        blank=True,
        validators=_WAIT,
        help_text=_("A task waits this long at most before it is given up. Empty: a day."),
    )
    result_days = models.FloatField(
        _("days that results are kept"),
        null=True,
        blank=True,
        validators=_RESULT_DAYS,
        help_text=_("Of tasks that end from now on. Empty: as DARKROOM_RESULT_DAYS says."),
    )

    class Meta:
        abstract = True


class Plan(Quotas):
    """A named set of limits. One plan is the default: of all whom nothing else gives a plan."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(_("name"), max_length=64, unique=True)
    is_default = models.BooleanField(
        _("default"),
        default=False,
        help_text=_("Of all users who have no plan of their own and none by a group."),
    )
    rank = models.IntegerField(
        _("rank"),
        default=0,
        db_default=0,
        help_text=_("Who has plans by several groups gets the one with the highest rank."),
    )
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
    generators = models.ManyToManyField(
        Generator,
        blank=True,
        related_name="+",
        verbose_name=_("allowed generators"),
        help_text=_("None chosen: all that are offered."),
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
            models.CheckConstraint(condition=bounds.quotas(), name="plan_quotas_bounded"),
        )

    def __str__(self) -> str:
        return self.name

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Let ``core.accounts.save_plan`` see to it that there is one default."""
        super().validate_constraints({*(exclude or ()), "is_default"})


class GroupPlan(models.Model):
    """The plan that the users of a group have, unless they have one of their own."""

    group = models.OneToOneField(
        Group,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="darkroom_plan",
        verbose_name=_("group"),
    )
    plan = models.ForeignKey(
        Plan, on_delete=models.PROTECT, related_name="groups", verbose_name=_("plan")
    )

    class Meta:
        verbose_name = _("plan of a group")
        verbose_name_plural = _("plans of groups")

    def __str__(self) -> str:
        return str(self.plan)


class Account(Quotas):
    """A user's plan, the limits that differ from it, and the state of the submit rate.

    ``plan`` is the one that holds, kept by triggers; ``own_plan`` is what staff chose for this
    user. Writing another ``plan`` counts as choosing it.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="account",
        verbose_name=_("user"),
    )
    plan = models.ForeignKey(
        Plan,
        on_delete=models.PROTECT,
        related_name="accounts",
        verbose_name=_("plan that holds"),
        editable=False,
    )
    own_plan = models.ForeignKey(
        Plan,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        verbose_name=_("own plan"),
        help_text=_("Empty: the plan of the user's groups, or else the default one."),
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
    generators = models.ManyToManyField(
        Generator, blank=True, related_name="+", verbose_name=_("allowed generators")
    )
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
            models.CheckConstraint(condition=bounds.quotas(), name="account_quotas_bounded"),
        )

    def __str__(self) -> str:
        return str(self.user)


class DayUse(models.Model):
    """How many tasks of a user count for a day (UTC), and so for its month.

    A row of its own, not a column of the account: an ending gives back while it holds flow and
    task, where the account, which comes before them, can no longer be locked.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    day = models.DateField()
    number = models.PositiveIntegerField()

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=("owner", "day"), name="dayuse_owner_day"),
            models.CheckConstraint(condition=Q(number__gte=0), name="dayuse_never_negative"),
        )

    def __str__(self) -> str:
        return f"{self.owner_id}, {self.day}: {self.number}"
