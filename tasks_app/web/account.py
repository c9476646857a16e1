"""The account: limits and their use, and the password."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from tasks_app.core import credentials, offers
from tasks_app.web.surroundings import owner_id


@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show limits and use, and the way to keys and password."""
    assert request.user.is_authenticated
    found = offers.account(request.user)
    context = {
        "account": found,
        "meters": [
            (gettext("Open tasks"), found["limits"]["open"]),
            (gettext("Running at once"), found["limits"]["running"]),
        ],
        "submit": found["limits"]["submit"],
        "usable_keys": credentials.usable(owner_id(request)),
    }
    return render(request, "web/account.html", context)


class ChangePassword(PasswordChangeView):
    """Change the password: this session stays, all others end. API keys go on."""

    template_name = "web/password.html"
    success_url = reverse_lazy("web:account")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Change it, and say so on the next page."""
        answer = super().form_valid(form)
        messages.success(
            self.request,
            gettext("Your password is changed. Everywhere else you are logged out now."),
        )
        return answer
