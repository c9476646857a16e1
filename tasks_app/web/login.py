"""The door: logging in, with a limit on tries."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from tasks_app.web import throttle


class Login(LoginView):
    """Log in, with a limit on tries."""

    template_name = "web/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the try, then judge it."""
        wait = throttle.count(*self._who())
        if not wait:
            return super().post(request, *args, **kwargs)
        minutes = -(-wait // 60)
        response = render(request, "web/throttled.html", {"minutes": minutes}, status=429)
        response["Retry-After"] = str(wait)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Start the session."""
        throttle.clear(*self._who())
        return super().form_valid(form)

    def _who(self) -> tuple[str, str]:
        return self.request.POST.get("username", ""), self.request.META.get("REMOTE_ADDR", "")
