"""Where upstreams call back."""

from django.urls import path

from tasks_app.webhooks import views

urlpatterns = [path("webhooks/<str:generator>/<str:token>", views.receive)]
