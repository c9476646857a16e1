"""Accounts: which limits hold for a user."""

from dataclasses import dataclass
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser

from tasks_app.models import Account, Plan, new_id

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one account: the plan's, where the account does not say otherwise."""

    plan: str
    max_open: int
    max_running: int
    submit_interval: float
    submit_burst: int
    weight: float


def limits_of(account: Account) -> Limits:
    """Merge an account with its plan."""
    plan = account.plan
    return Limits(
        plan=plan.name,
        max_open=_first(account.max_open, plan.max_open),
        max_running=_first(account.max_running, plan.max_running),
        submit_interval=_first(account.submit_interval, plan.submit_interval),
        submit_burst=_first(account.submit_burst, plan.submit_burst),
        weight=_first(account.weight, plan.weight),
    )


def account_of(user: AbstractBaseUser) -> Account:
    """Return the user's account; users made elsewhere (the admin) get one on first need."""
    found = Account.objects.select_related("plan").filter(user_id=user.pk).first()
    if found is not None:
        return found
    account, _ = Account.objects.get_or_create(user_id=user.pk, defaults={"plan": default_plan()})
    return account


def default_plan() -> Plan:
    """Return the plan of new users: a migration makes it, staff may change it.

    Should staff have left no plan as the default, one with the default numbers is made:
    nobody must be locked out by that.
    """
    found = Plan.objects.filter(is_default=True).first()
    if found is not None:
        return found
    plan, _ = Plan.objects.get_or_create(is_default=True, defaults={"name": f"default {new_id()}"})
    return plan


def _first(own: T | None, plan: T) -> T:
    return plan if own is None else own
