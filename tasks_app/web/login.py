"""The door: logging in, with a limit on tries. The staff's own login page leads here, too."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from tasks_app.web import throttle


class CountedForm(AuthenticationForm):
    """The one place where passwords are tried: none is looked at that has not been counted."""

    wait = 0
    """Seconds until the next try, when there were too many."""

    def clean(self) -> dict[str, Any]:
        """Count the try, then judge it."""
        who = self.cleaned_data.get("username") or "", address_of(self.request)
        self.wait = throttle.count(*who)
        if self.wait:
            raise ValidationError("", code="too_many_tries")
        cleaned = super().clean()
        throttle.clear(*who)
        return cleaned


class Login(LoginView):
    """Log in, with a limit on tries."""

    template_name = "web/login.html"
    form_class = CountedForm
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Say that it was wrong, or that there were too many tries."""
        wait = form.wait if isinstance(form, CountedForm) else 0
        return too_many(self.request, wait) if wait else super().form_invalid(form)


def address_of(request: HttpRequest | None) -> str:
    """Return where a try comes from."""
    return str(request.META.get("REMOTE_ADDR", "")) if request else ""


def too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """Return the page that says so; ``wait`` is in seconds."""
    minutes = -(-wait // 60)
    response = render(request, "web/throttled.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(wait)
    return response
