"""Users with their keys, and groups. Users are deactivated, never deleted: their tasks stay."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import JSONField, Q, QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from tasks_app.admin import assigning, journal, searching
from tasks_app.admin.base import Base, Kept, ReadOnly
from tasks_app.admin.dress import (
    AdminPasswordChangeForm,
    TabularInline,
    UserChangeForm,
    UserCreationForm,
    display,
)
from tasks_app.core import accounts, credentials
from tasks_app.models import Account, ApiKey, GroupPlan, Task

admin.site.unregister(User)
admin.site.unregister(Group)


class KeyInline(ReadOnly, TabularInline[ApiKey, User]):
    """A user's keys; they are made and revoked in their own list."""

    model = ApiKey
    extra = 0
    fields = ("name", "prefix", "created_at", "last_used_at", "revoked_at")
    readonly_fields = fields
    verbose_name_plural = _("API keys")


_OPENS = "links_that_open"
_LINK = "text-primary-600 dark:text-primary-500"
_RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


def is_root(request: HttpRequest) -> bool:
    """Whether this is a superuser: nobody else gives rights, or comes near those who have all."""
    return bool(request.user.is_active and getattr(request.user, "is_superuser", False))


@admin.register(User)
class UserAdmin(Kept, DjangoUserAdmin[User], Base[User]):
    """Who may come in."""

    form: Any = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "last_login", "more")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("username__startswith",)
    search_help_text = _("The beginning of a user's name")
    ordering = ("-id",)
    sortable_by = ("username",)
    filter_horizontal = ()
    actions = ("deactivate", "activate", "assign_plan")
    inlines = (KeyInline,)
    readonly_fields = ("last_login", "date_joined", "more")
    fieldsets = (
        (None, {"fields": ("username", "password", "more")}),
        (_("Person"), {"fields": (("first_name", "last_name"), "email")}),
        (
            _("Rights"),
            {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")},
        ),
        (_("Dates"), {"fields": (("last_login", "date_joined"),)}),
    )

    @display(_("see"))
    def more(self, user: User) -> str:
        """Return links to what belongs to the user."""
        if user.pk is None:
            return ""
        tasks, limits, key = (
            reverse("admin:tasks_app_task_changelist", query={"q": user.username}),
            reverse("admin:tasks_app_account_change", args=[user.pk]),
            reverse("admin:tasks_app_apikey_add", query={"user": user.pk}),
        )
        links = ((tasks, _("tasks")), (limits, _("limits")), (key, _("make a key")))
        opens: list[bool] = getattr(user, _OPENS)
        shown = [(_LINK, *link) for link, one in zip(links, opens, strict=True) if one]
        return format_html_join(" · ", '<a class="{}" href="{}">{}</a>', shown)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """Say with each user which of the links open for this member of the staff."""
        tasks, limits, keys = (
            self.admin_site.get_model_admin(model) for model in (Task, Account, ApiKey)
        )
        opens = (
            tasks.has_view_permission(request),
            limits.has_view_permission(request),
            keys.has_add_permission(request),
        )
        return super().get_queryset(request).annotate(**{_OPENS: Value(opens, JSONField())})

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only superusers change superusers."""
        if obj is not None and obj.is_superuser and not is_root(request):
            return False
        return super().has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Only superusers give rights, which are also those to everything else."""
        return (*self.readonly_fields, *(() if is_root(request) else _RIGHTS))

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - Django names it
        form_url: str = "",
    ) -> HttpResponse:
        """Only superusers set passwords of staff; one's own is changed where the old is asked."""
        user = self.get_object(request, unquote(id))
        if user is not None and user.is_staff and not is_root(request):
            raise PermissionDenied
        answer: HttpResponse = super().user_change_password(request, id, form_url)
        return answer

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Give a new user an account: its limits can be set at once."""
        super().save_model(request, obj, form, change)
        accounts.account_of(obj)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Deactivate; their keys stop within seconds. Nobody locks himself out."""
        self._set_active(request, queryset.exclude(username=request.user.get_username()), False)

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Activate."""
        self._set_active(request, queryset, True)

    @admin.action(description=_("Assign a plan"), permissions=["assign"])
    def assign_plan(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        """Give the chosen users a plan."""
        return assigning.assign(self, request, queryset)

    def has_assign_permission(self, request: HttpRequest) -> bool:
        """Whoever may change accounts."""
        return assigning.may_assign(request)

    def _set_active(self, request: HttpRequest, queryset: QuerySet[User], active: bool) -> None:
        if not is_root(request):
            queryset = queryset.exclude(is_superuser=True)
        count = 0
        word = _("activated") if active else _("deactivated")
        for user in queryset.exclude(is_active=active)[:500]:
            user.is_active = active
            user.save(update_fields=["is_active"])  # a signal drops cached keys
            journal.note(self, request, user, word)
            count += 1
        text = ngettext("%(count)d user %(word)s.", "%(count)d users %(word)s.", count)
        self.message_user(request, text % {"count": count, "word": word})


class PlanInline(TabularInline[GroupPlan, Group]):
    """The plan of a group's users."""

    model = GroupPlan
    max_num = 1
    extra = 1


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, Base[Group]):
    """Groups of rights: staff that may only pause generators, or only look.

    Who may change a group may give himself what it has: only superusers may.
    """

    inlines = (PlanInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only superusers."""
        return is_root(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only superusers."""
        return is_root(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only superusers."""
        return is_root(request)


@admin.register(ApiKey)
class ApiKeyAdmin(Kept, Base[ApiKey]):
    """Keys can be made (shown once) and revoked, never read again."""

    list_display = ("name", "prefix", "user", "created_at", "last_used_at", "revoked_at")
    list_select_related = ("user",)
    search_fields = ("prefix",)
    search_help_text = _("The beginning of a key (after dk_) or of a user's name")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("user", "name")
    autocomplete_fields = ("user",)
    actions = ("revoke_keys",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ApiKey], search_term: str
    ) -> tuple[QuerySet[ApiKey], bool]:
        """Search by prefix of the key or of its user's name."""
        term = search_term.strip()
        if not term:
            return queryset, False
        found = queryset.filter(prefix__startswith=term.removeprefix("dk_")[:8])
        return found | queryset.filter(user_id__in=searching.owners(term)), False

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A key is its user: staff make them for themselves and for users who are no staff."""
        if db_field.name == "user" and not is_root(request):
            others = Q(is_staff=False, is_superuser=False)
            kwargs["queryset"] = User.objects.filter(others | Q(pk=request.user.pk))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Make the key; its secret lives as long as this request."""
        made, text = credentials.create(obj.user, obj.name)
        obj.pk, obj.prefix, obj.digest = made.pk, made.prefix, made.digest
        obj.secret = text

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the key in the answer to this one request, and nowhere else.

        A message would carry it in a cookie, or in the table of sessions.
        """
        context = {
            **self.admin_site.each_context(request),
            "title": str(obj),
            "opts": self.opts,
            "secret": obj.secret,
        }
        return render(request, "admin/tasks_app/apikey/made.html", context)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """There is nothing to change in a key; the list is still shown."""
        return obj is None and super().has_change_permission(request, obj)

    @admin.action(description=_("Revoke"), permissions=["change"])
    def revoke_keys(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke keys; revoked ones stay revoked."""
        count = 0
        for key in queryset.filter(revoked_at__isnull=True)[:500]:
            credentials.revoke(key)
            self.log_change(request, key, "revoked")
            count += 1
        self.message_user(request, ngettext("%d key revoked.", "%d keys revoked.", count) % count)
