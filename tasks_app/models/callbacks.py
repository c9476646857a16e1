"""Callbacks: what callers are told, where, signed with what, and how that went."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tasks_app.lifecycle import CallbackEvent, CallbackState, Delivery
from tasks_app.models.ids import new_id

MOST_URL: Final = 2_000
"""Characters of an address: it stands in an index, whose entries PostgreSQL bounds."""


class CallbackSecret(models.Model):
    """What an account's callbacks are signed with, sealed with the service's secret key.

    One without ``retires_at`` is the current one. A replaced one goes on signing, beside its
    successor, until it retires. ``key_print`` says which secret key it is sealed with.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="callback_secrets"
    )
    sealed = models.TextField()
    key_print = models.CharField(max_length=16)
    created_at = models.DateTimeField(auto_now_add=True)
    retires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("owner",),
                condition=Q(retires_at__isnull=True),
                name="callback_secret_one_current",
            ),
        )

    def __str__(self) -> str:
        return str(self.pk)


class CallbackAddress(models.Model):
    """What is known of an address of an account: that it is the default, or that it is disabled.

    Addresses that tasks name are not listed here until they answer 410 (Gone).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="callback_addresses",
        verbose_name=_("owner"),
    )
    url = models.CharField(_("address"), max_length=MOST_URL)
    is_default = models.BooleanField(_("default"), default=False)
    with_running = models.BooleanField(_("also when tasks start"), default=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    disabled_at = models.DateTimeField(_("disabled"), null=True, blank=True)

    class Meta:
        verbose_name = _("callback address")
        verbose_name_plural = _("callback addresses")
        default_permissions = ("view", "change")
        constraints = (
            models.UniqueConstraint(fields=("owner", "url"), name="callback_address_unique"),
            models.UniqueConstraint(
                fields=("owner",), condition=Q(is_default=True), name="callback_address_one_default"
            ),
        )
        indexes = (
            models.Index(
                fields=("owner", "-disabled_at"),
                condition=Q(disabled_at__isnull=False),
                name="callback_address_disabled",
            ),
        )

    def __str__(self) -> str:
        return self.url


class Callback(models.Model):
    """One event that a caller is to be told: the outbox.

    ``id`` is the ``webhook-id`` and ``body`` the bytes, both the same at every attempt.
    ``lane`` is host and port: what shares the limit of simultaneous attempts. ``attempts``
    counts all attempts and is the fencing token of the one that goes on; ``failures`` those of
    the current round, whose next delay they decide. While an attempt goes on, ``next_attempt_at``
    is when it counts as lost. The task may be gone before its callbacks are.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="callbacks",
        verbose_name=_("owner"),
        db_index=False,
    )
    task_id = models.UUIDField(_("task"), null=True, blank=True)
    event = models.CharField(
        _("event"), max_length=16, choices=[(one.value, one.value) for one in CallbackEvent]
    )
    url = models.CharField(_("address"), max_length=MOST_URL)
    lane = models.CharField(max_length=260)
    body = models.BinaryField()
    state = models.CharField(
        _("state"),
        max_length=10,
        choices=[(one.value, one.value) for one in CallbackState],
        default=CallbackState.PENDING.value,
    )
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    failures = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(_("created"))
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    last_at = models.DateTimeField(_("last attempt"), null=True, blank=True)
    last_outcome = models.CharField(
        _("outcome"),
        max_length=16,
        blank=True,
        choices=[(one.value, one.value) for one in Delivery],
    )
    last_status = models.PositiveIntegerField(_("status"), null=True, blank=True)
    redelivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("callback")
        verbose_name_plural = _("callbacks")
        default_permissions = ("view",)
        permissions = (("redeliver_callback", _("Can deliver callbacks again")),)
        constraints = (
            models.CheckConstraint(
                condition=Q(state__in=[one.value for one in CallbackState]),
                name="callback_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="pending", next_attempt_at__isnull=False, ended_at__isnull=True)
                | (~Q(state="pending") & Q(next_attempt_at__isnull=True, ended_at__isnull=False)),
                name="callback_due_iff_pending",
            ),
        )
        indexes = (
            # What is due, in order; and by lane, for when some lanes are full.
            models.Index(
                fields=("next_attempt_at",), condition=Q(state="pending"), name="callback_due"
            ),
            models.Index(
                fields=("lane", "next_attempt_at"),
                condition=Q(state="pending"),
                name="callback_lane_due",
            ),
            # What an owner sees; what of it failed; what of it an address that is gone takes along.
            models.Index(fields=("owner", "-id"), name="callback_owner_recent"),
            models.Index(
                fields=("owner", "-id"),
                condition=Q(state__in=["exhausted", "disabled"]),
                name="callback_owner_failed",
            ),
            models.Index(
                fields=("owner", "url"), condition=Q(state="pending"), name="callback_owner_pending"
            ),
            models.Index(fields=("task_id",), name="callback_of_task"),
            models.Index(
                fields=("-id",),
                condition=Q(state__in=["exhausted", "disabled"]),
                name="callback_trouble_recent",
            ),
        )

    def __str__(self) -> str:
        return str(self.pk)


class CallbackAttempt(models.Model):
    """What came of one attempt; ``answer`` is the beginning of the body that came back."""

    id = models.BigAutoField(primary_key=True)
    callback = models.ForeignKey(Callback, on_delete=models.CASCADE, related_name="log")
    number = models.PositiveIntegerField(_("number"))
    at = models.DateTimeField(_("time"))
    seconds = models.FloatField(_("seconds"))
    outcome = models.CharField(
        _("outcome"), max_length=16, choices=[(one.value, one.value) for one in Delivery]
    )
    status = models.PositiveIntegerField(_("status"), null=True, blank=True)
    answer = models.TextField(_("answer"), blank=True)

    class Meta:
        verbose_name = _("delivery attempt")
        verbose_name_plural = _("delivery attempts")
        default_permissions = ("view",)
        ordering = ("callback", "number")
        constraints = (
            models.UniqueConstraint(fields=("callback", "number"), name="callback_attempt_once"),
        )

    def __str__(self) -> str:
        return f"{self.callback_id}#{self.number}"
