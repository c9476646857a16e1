"""What holds now of work that an upstream does: what it is called there, and when it is asked."""

from datetime import datetime

from django.utils.translation import gettext as _

from tasks_app import conf
from tasks_app.admin import words
from tasks_app.admin.rows import Row
from tasks_app.core.remote import setups
from tasks_app.generators.registry import UnknownAdapter
from tasks_app.models import Attempt


def rows(attempt: Attempt, now: datetime) -> list[Row]:
    """Return what is known of a submission: whoever asks about it gives it no heartbeat."""
    due = attempt.next_poll_at
    late = due is not None and (now - due).total_seconds() > conf.get().lease
    return [
        Row(_("Name at the model service"), attempt.upstream_id or _("not known")),
        Row(_("Questions so far"), str(attempt.polls)),
        Row(_("Next question"), words.moment(due, now), late),
        *_silence(attempt, now),
        *_webhook(attempt, now),
    ]


def _silence(attempt: Attempt, now: datetime) -> list[Row]:
    if not attempt.poll_failures:
        return []
    since = words.moment(attempt.failing_since, now)
    text = _("%(number)d since %(moment)s") % {"number": attempt.poll_failures, "moment": since}
    return [Row(_("Questions that told nothing"), text, bad=True)]


def _webhook(attempt: Attempt, now: datetime) -> list[Row]:
    setup = attempt.setup
    if setup is None or not setup.settings.get("webhooks", False):
        return []
    came = _("none has come")
    if attempt.webhook_at is not None:
        came = words.moment(attempt.webhook_at, now)
    found = [Row(_("Last webhook"), came, bad=attempt.webhook_at is None)]
    try:
        asked = setups.adapter_of(setup).polls
    except UnknownAdapter:
        return found
    if not asked:
        text = _("Only a webhook can bring it: this model service cannot be asked.")
        found.append(Row(_("Its result"), text))
    return found
