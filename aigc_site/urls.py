"""The addresses of the site."""

from django.contrib import admin
from django.urls import include, path

from tasks_app.admin import entrance
from tasks_app.api import errors, health, metrics

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.scrape),
    path("", include("tasks_app.api.urls")),
    path("", include("tasks_app.webhooks.urls")),
    path("admin/login/", entrance.login),
    path("admin/", admin.site.urls),
    path("", include("tasks_app.web.urls")),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
