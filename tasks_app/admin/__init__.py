"""The Django admin: what staff set and look at. The full admin grows from here."""

from tasks_app.admin import accounts, generators, tasks

__all__ = ["accounts", "generators", "tasks"]
