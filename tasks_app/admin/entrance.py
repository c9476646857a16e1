"""The door to the staff's pages: everybody logs in at the one place that counts the tries."""

from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


def login(request: HttpRequest) -> HttpResponse:
    """Send strangers to the login and staff on; users who are no staff have no business here."""
    wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
    if not url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        wanted = reverse("admin:index")
    if not request.user.is_authenticated:
        return redirect_to_login(wanted)
    if not admin.site.has_permission(request):
        raise PermissionDenied
    return redirect(wanted)
