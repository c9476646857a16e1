"""Staff's actions on tasks: permission-gated, logged twice, and said in numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasks_app.admin import journal
from tasks_app.core import staff
from tasks_app.models import Task

MOST: Final = 500
"""Tasks that one request acts on; more would not be done before the browser gives up."""


@dataclass(frozen=True, slots=True)
class TaskAction:
    """One thing that staff may do to a task."""

    name: str
    permission: str
    label: Promise
    icon: str
    act: Callable[[UUID, str], bool]
    for_ended: bool
    """Whether it is for tasks that have ended, or for those that have not."""


ACTIONS: Final = {
    action.name: action
    for action in (
        TaskAction(
            "cancel_tasks",
            "cancel_task",
            gettext_lazy("Cancel"),
            "cancel",
            staff.cancel,
            for_ended=False,
        ),
        TaskAction(
            "time_out_tasks",
            "time_out_task",
            gettext_lazy("Time out now"),
            "timer_off",
            staff.time_out,
            for_ended=False,
        ),
        TaskAction(
            "retry_tasks",
            "retry_task",
            gettext_lazy("Retry as a new task"),
            "replay",
            staff.retry,
            for_ended=True,
        ),
        TaskAction(
            "release_slots",
            "release_task_slots",
            gettext_lazy("Release slots still held"),
            "lock_open",
            staff.release_slots,
            for_ended=True,
        ),
    )
}


def allowed(request: HttpRequest, action: TaskAction) -> bool:
    """Return whether this member of the staff may do it."""
    return request.user.has_perm(f"tasks_app.{action.permission}")


def perform(request: HttpRequest, action: TaskAction, task_ids: Sequence[UUID]) -> None:
    """Do it to each task, log what was done, and say how it went. Raises ``PermissionDenied``."""
    if not allowed(request, action):
        raise PermissionDenied
    chosen = task_ids[:MOST]
    who = request.user.get_username()
    done = [task_id for task_id in chosen if action.act(task_id, who)]
    _log(request, action, done)
    _say(request, action, len(done), len(chosen) - len(done), len(task_ids) > MOST)


def _log(request: HttpRequest, action: TaskAction, done: Sequence[UUID]) -> None:
    if done:
        tasks = list(Task.objects.filter(pk__in=done))
        user, word = str(request.user.pk), journal.plain(action.label)
        LogEntry.objects.log_actions(user, tasks, CHANGE, change_message=word)


def _say(request: HttpRequest, action: TaskAction, done: int, skipped: int, more: bool) -> None:
    text = _("%(action)s: %(done)s, %(skipped)s.") % {
        "action": action.label,
        "done": ngettext("%d done", "%d done", done) % done,
        "skipped": ngettext("%d skipped", "%d skipped", skipped) % skipped,
    }
    if more:
        text += " " + _("Only the first %d were looked at: repeat it for the rest.") % MOST
    messages.add_message(request, messages.SUCCESS if done else messages.WARNING, text)
