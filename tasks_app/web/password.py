"""Changing one's password: the present one is asked for, and guessing it is counted as at the door.

Whoever finds a session open knows no password: without the count they could try them all here.
"""

from typing import Any

from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import reverse_lazy
from django.utils.translation import gettext

from tasks_app.web import login, throttle


class CountedChange(PasswordChangeForm):
    """Looks at no present password that has not been counted, with the tries at the door."""

    wait = 0
    """Seconds until the next try, when there were too many."""

    def __init__(self, *args: Any, address: str = "", **fields: Any) -> None:
        """``address`` is where the tries come from."""
        super().__init__(*args, **fields)
        self.address = address

    def clean_old_password(self) -> str:
        """Count the try, then judge it."""
        who = self.user.get_username(), self.address
        self.wait = throttle.count(*who)
        if self.wait:
            raise ValidationError("", code="too_many_tries")
        right = str(super().clean_old_password())
        throttle.clear(*who)
        return right


class ChangePassword(PasswordChangeView):
    """Change the password: this session stays, all others end. API keys go on."""

    template_name = "web/password.html"
    form_class = CountedChange
    success_url = reverse_lazy("web:account")

    def get_form_kwargs(self) -> dict[str, Any]:
        """Let the form know where the tries come from."""
        return super().get_form_kwargs() | {"address": login.address_of(self.request)}

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Change it, and say so on the next page."""
        answer = super().form_valid(form)
        said = gettext("Your password is changed. Everywhere else you are logged out now.")
        messages.success(self.request, said)
        return answer

    def form_invalid(self, form: PasswordChangeForm) -> HttpResponse:
        """Say what is wrong, or that there were too many tries."""
        wait = form.wait if isinstance(form, CountedChange) else 0
        return login.too_many(self.request, wait) if wait else super().form_invalid(form)
