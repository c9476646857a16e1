"""The addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path
from django.views.i18n import set_language

from tasks_app.web import account, callbacks, gallery, keys, login, password, views

app_name = "web"

urlpatterns: list[URLPattern] = [
    path("", views.studio, name="home"),
    path("gallery", gallery.gallery, name="gallery"),
    path("tasks/<uuid:task_id>", views.task, name="task"),
    path("seen", views.seen, name="seen"),
    path("keys", keys.keys, name="keys"),
    path("keys/<uuid:key_id>/revoke", keys.revoke, name="revoke"),
    path("callbacks", callbacks.overview, name="callbacks"),
    path("callbacks/save", callbacks.save, name="callback-save"),
    path("callbacks/secret", callbacks.secret, name="callback-secret"),
    path("callbacks/test", callbacks.test, name="callback-test"),
    path("callbacks/again", callbacks.again, name="callback-again"),
    path("callbacks/enable", callbacks.enable, name="callback-enable"),
    path("callbacks/<uuid:callback_id>", callbacks.callback, name="callback"),
    path("callbacks/<uuid:callback_id>/redeliver", callbacks.redeliver, name="callback-redeliver"),
    path("account", account.account, name="account"),
    path("account/password", password.ChangePassword.as_view(), name="password"),
    path("login", login.Login.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("language", set_language, name="language"),
    path("jsi18n", views.catalogue, name="jsi18n"),
    path("favicon.ico", views.favicon, name="favicon"),
]
