"""What the staff's journal says, in the language of who reads it."""

from django import template
from django.contrib.admin.models import LogEntry
from django.utils.translation import gettext

register = template.Library()


@register.filter
def journal(entry: LogEntry) -> str:
    """Return what was done. Django keeps its own entries in parts, and translates those itself."""
    text = entry.get_change_message()
    if not text or entry.change_message.startswith("["):
        return text
    return gettext(text)
