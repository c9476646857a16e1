"""The one app."""

from django.apps import AppConfig


class TasksAppConfig(AppConfig):
    """Darkroom's tasks, workers, API and pages."""

    name = "tasks_app"
    verbose_name = "Darkroom"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks and the hooks that drop cached credentials."""
        from tasks_app import checks
        from tasks_app.core import credentials

        checks.register()
        credentials.connect()
