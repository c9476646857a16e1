"""The Django admin, dressed by unfold: what staff look at, set and do."""

from tasks_app.admin import accounts, archive, callbacks, events, generators, tasks, users

__all__ = ["accounts", "archive", "callbacks", "events", "generators", "tasks", "users"]
