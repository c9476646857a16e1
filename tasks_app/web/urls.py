"""The addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path

from tasks_app.web import views

app_name = "web"

urlpatterns: list[URLPattern] = [
    path("", views.studio, name="home"),
    path("tasks/<uuid:task_id>", views.task, name="task"),
    path("login", views.Login.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("jsi18n", views.catalogue, name="jsi18n"),
    path("favicon.ico", views.favicon, name="favicon"),
]
