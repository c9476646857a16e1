"""The addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path
from django.views.i18n import set_language

from tasks_app.web import account, gallery, keys, login, password, views

app_name = "web"

urlpatterns: list[URLPattern] = [
    path("", views.studio, name="home"),
    path("gallery", gallery.gallery, name="gallery"),
    path("tasks/<uuid:task_id>", views.task, name="task"),
    path("seen", views.seen, name="seen"),
    path("keys", keys.keys, name="keys"),
    path("keys/<uuid:key_id>/revoke", keys.revoke, name="revoke"),
    path("account", account.account, name="account"),
    path("account/password", password.ChangePassword.as_view(), name="password"),
    path("login", login.Login.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("language", set_language, name="language"),
    path("jsi18n", views.catalogue, name="jsi18n"),
    path("favicon.ico", views.favicon, name="favicon"),
]
