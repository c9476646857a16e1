"""API keys: make one, see which there are, revoke one."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from tasks_app.core import access, credentials
from tasks_app.core.errors import NotFound
from tasks_app.web.surroundings import owner_id


class NewKey(forms.Form):
    """What a new key is called."""

    name = forms.CharField(max_length=80)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def keys(request: HttpRequest) -> HttpResponse:
    """List the keys; make one. Its secret is in the answer to that one request and nowhere else."""
    assert request.user.is_authenticated
    made, secret = None, ""
    error = ""
    if request.method == "POST":
        form = NewKey(request.POST)
        if not form.is_valid():
            error = gettext("Give the key a name of up to 80 characters.")
        elif credentials.usable(owner_id(request)) >= credentials.MOST_KEYS:
            error = gettext("You have as many keys as one may have. Revoke one first.")
        else:
            made, secret = credentials.create(request.user, form.cleaned_data["name"])
    context = {
        "keys": credentials.of(owner_id(request)),
        "made": made,
        "secret": secret,
        "error": error,
        "name": request.POST.get("name", "")[:80] if error else "",
    }
    return render(request, "web/keys.html", context, status=422 if error else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Ask whether a key shall be revoked; revoke it."""
    try:
        key = access.own_key(key_id, owner_id(request))
    except NotFound as error:
        raise Http404 from error
    if request.method != "POST":
        return render(request, "web/revoke.html", {"key": key})
    credentials.revoke(key)
    messages.success(request, gettext("The key is revoked: nobody gets in with it any more."))
    return redirect("web:keys")
