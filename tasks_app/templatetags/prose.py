"""Descriptions of the API in markup: what stands between backticks is code."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def prose(text: str) -> SafeString:
    """Return a sentence with its code marked."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # one that is not closed is a mere character
        return format_html("{}", text)
    marked = (("<code>{}</code>" if place % 2 else "{}", part) for place, part in enumerate(parts))
    return format_html_join("", "{}", ((format_html(form, part),) for form, part in marked))
