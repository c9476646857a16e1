"""The door: logging in, with a limit on tries. The staff's own login page leads here, too."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render

from tasks_app.web import throttle


class CountedForm(AuthenticationForm):
    """The one place where passwords are tried: none is looked at that has not been counted."""

    wait = 0
    """Seconds until the next try, when there were too many."""

    def clean(self) -> dict[str, Any]:
        """Count the try, then judge it."""
        who = self.cleaned_data.get("username") or "", self._address()
        self.wait = throttle.count(*who)
        if self.wait:
            raise ValidationError("", code="too_many_tries")
        cleaned = super().clean()
        throttle.clear(*who)
        return cleaned

    def _address(self) -> str:
        return str(self.request.META.get("REMOTE_ADDR", "")) if self.request else ""


class Login(LoginView):
    """Log in, with a limit on tries."""

    template_name = "web/login.html"
    form_class = CountedForm
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Say that it was wrong, or that there were too many tries."""
        wait = form.wait if isinstance(form, CountedForm) else 0
        if not wait:
            return super().form_invalid(form)
        minutes = -(-wait // 60)
        response = render(self.request, "web/throttled.html", {"minutes": minutes}, status=429)
        response["Retry-After"] = str(wait)
        return response
