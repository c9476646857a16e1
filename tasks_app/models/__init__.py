"""The tables: one file per subject; constraints and indexes live with them."""

from tasks_app.models.archive import ArchivedTask
from tasks_app.models.artifacts import Artifact
from tasks_app.models.attempts import Attempt, Webhook
from tasks_app.models.callbacks import (
    Callback,
    CallbackAddress,
    CallbackAttempt,
    CallbackSecret,
)
from tasks_app.models.events import Event
from tasks_app.models.flows import Cost, Flow, Lane, Pool
from tasks_app.models.generators import Generator, Setup
from tasks_app.models.ids import new_id
from tasks_app.models.keys import ApiKey, IdempotencyKey
from tasks_app.models.plans import Account, DayUse, GroupPlan, Plan
from tasks_app.models.pressure import Pressure
from tasks_app.models.shipped import Shipped
from tasks_app.models.signs import Sign
from tasks_app.models.tallies import Tally, Total
from tasks_app.models.tasks import Task

__all__ = [
    "Account",
    "ApiKey",
    "ArchivedTask",
    "Artifact",
    "Attempt",
    "Callback",
    "CallbackAddress",
    "CallbackAttempt",
    "CallbackSecret",
    "Cost",
    "DayUse",
    "Event",
    "Flow",
    "Generator",
    "GroupPlan",
    "IdempotencyKey",
    "Lane",
    "Plan",
    "Pool",
    "Pressure",
    "Setup",
    "Shipped",
    "Sign",
    "Tally",
    "Task",
    "Total",
    "Webhook",
    "new_id",
]
