"""Giving many users a plan at once: an action that asks which one."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from tasks_app.admin.dress import Select
from tasks_app.core import accounts
from tasks_app.models import Account, Plan

MOST: Final = 10_000
"""Users that one request changes; more would not be done before the browser gives up."""


class PlanForm(forms.Form):
    """Which plan."""

    plan = forms.ModelChoiceField(
        Plan.objects.all(),
        required=False,
        label=_("Plan"),
        empty_label=_("none of their own: by group, or the default"),
        widget=Select,
    )


def may_assign(request: HttpRequest) -> bool:
    """Return whether this member of the staff may change accounts."""
    return request.user.has_perm("tasks_app.change_account")


def assign(
    where: ModelAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponse | None:
    """Ask for the plan, then give it to the chosen rows, whose keys are those of users."""
    if not may_assign(request):
        raise PermissionDenied
    chosen = list(queryset.order_by().values_list("pk", flat=True)[: MOST + 1])
    form = PlanForm(request.POST if "assign" in request.POST else None)
    if form.is_valid():
        _carry_out(request, chosen, form.cleaned_data["plan"])
        return None
    context = {
        **where.admin_site.each_context(request),
        "title": _("Assign a plan"),
        "opts": where.opts,
        "form": form,
        "number": min(len(chosen), MOST),
        "checkbox": ACTION_CHECKBOX_NAME,
        "selected": request.POST.getlist(ACTION_CHECKBOX_NAME)[: MOST + 1],
        "across": request.POST.get("select_across", "0"),
        "action": request.POST.get("action", ""),
    }
    return render(request, "admin/assign_plan.html", context)


def _carry_out(request: HttpRequest, chosen: list[int], plan: Plan | None) -> None:
    done = accounts.assign(chosen[:MOST], plan)
    rows = list(Account.objects.select_related("user").filter(pk__in=done))
    if rows:
        LogEntry.objects.log_actions(
            str(request.user.pk), rows, CHANGE, change_message=f"plan: {plan or 'none'}"
        )
    text = ngettext(
        "%d account has another plan now.", "%d accounts have another plan now.", len(done)
    ) % len(done)
    if len(chosen) > MOST:
        text += " " + str(_("Only the first %d were looked at: repeat it for the rest.") % MOST)
    messages.add_message(request, messages.SUCCESS if done else messages.WARNING, text)
