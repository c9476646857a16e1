"""Accounts: which limits hold for a user, and which generators a user may choose."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from tasks_app import conf
from tasks_app.lifecycle import Priority
from tasks_app.models import Account, Generator, Plan, new_id
from tasks_app.models.plans import DECIDING

_BATCH: Final = 500
_ORDER: Final = (Priority.LOW, Priority.NORMAL, Priority.HIGH)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one account: the plan's, where the account does not say otherwise.

    None is no limit. ``max_side`` is in pixels, ``max_wait`` and ``submit_interval`` in seconds.
    """

    plan: str
    max_open: int
    max_running: int
    submit_interval: float
    submit_burst: int
    weight: float
    max_day: int | None
    max_month: int | None
    max_priority: str | None
    max_n: int | None
    max_side: int | None
    max_wait: float | None
    result_days: float | None

    @property
    def priorities(self) -> tuple[Priority, ...]:
        """Return the priorities that may be asked for, the lowest first."""
        if self.max_priority is None:
            return _ORDER
        return _ORDER[: _ORDER.index(Priority(self.max_priority)) + 1]

    @property
    def usual_priority(self) -> Priority:
        """Return the priority of a task that names none."""
        return Priority.NORMAL if Priority.NORMAL in self.priorities else self.priorities[-1]

    @property
    def longest_wait(self) -> float:
        """Return for how many seconds a task waits that names no time of its own."""
        usual = conf.get().max_wait
        return usual if self.max_wait is None else min(usual, self.max_wait)

    @property
    def kept(self) -> timedelta:
        """Return for how long results are kept."""
        days = conf.get().result_days if self.result_days is None else self.result_days
        return timedelta(days=days)


OWN: Final = tuple(name for name in Limits.__dataclass_fields__ if name != "plan")


def limits_of(account: Account) -> Limits:
    """Merge an account with its plan."""
    return Limits(plan=account.plan.name, **{name: _first(account, name) for name in OWN})


def limits_of_owner(owner_id: int) -> Limits:
    """Return the limits of a user who has an account, as every owner of a task does."""
    return limits_of(Account.objects.select_related("plan").get(user_id=owner_id))


def account_of(user: AbstractBaseUser) -> Account:
    """Return the user's account; users made elsewhere (the admin) get one on first need."""
    rows = Account.objects.select_related("plan")
    found = rows.filter(user_id=user.pk).first()
    if found is not None:
        return found
    with transaction.atomic():
        _decide_alone()
        _make([user.pk])
    return rows.get(user_id=user.pk)


def _decide_alone() -> None:
    """Until the transaction ends, nobody else changes which plans hold: the first lock of all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [DECIDING])


def _make(user_ids: Iterable[int]) -> None:
    """Make the accounts that are missing, each with the plan that the tables give it.

    The default plan is read under ``_decide_alone``: one that is the default no more would count
    as chosen.
    """
    plan = default_plan()
    missing = [Account(user_id=pk, plan=plan) for pk in user_ids]
    Account.objects.bulk_create(missing, ignore_conflicts=True)


def default_plan() -> Plan:
    """Return the plan of those whom nothing else gives one: a migration makes it.

    Should staff have left no plan as the default, one with the default numbers is made:
    nobody must be locked out by that.
    """
    found = Plan.objects.filter(is_default=True).first()
    if found is not None:
        return found
    plan, _ = Plan.objects.get_or_create(is_default=True, defaults={"name": f"default {new_id()}"})
    return plan


def save_plan(plan: Plan) -> None:
    """Save a plan; as the default it takes the place of the one before, and of its users."""
    with transaction.atomic():
        _decide_alone()
        if plan.is_default:
            Plan.objects.exclude(pk=plan.pk).filter(is_default=True).update(is_default=False)
        plan.save()


def offered_to(account: Account) -> QuerySet[Generator]:
    """Return the generators that an account may choose.

    Its own list, where there is one, holds instead of the plan's; no list at all allows every
    generator that is offered.
    """
    own = Account.generators.through._default_manager.filter(account_id=account.pk)
    plans = Plan.generators.through._default_manager.filter(plan_id=account.plan_id)
    this = Q(generator_id=OuterRef("pk"))
    by_plan = Q(Exists(plans.filter(this))) | ~Q(Exists(plans))
    listed = Q(Exists(own.filter(this))) | (~Q(Exists(own)) & by_plan)
    return Generator.objects.filter(listed, enabled=True)


def is_listed(generator: Generator) -> bool:
    """Return whether a plan or an account names this generator among those it allows."""
    return any(
        kind.generators.through._default_manager.filter(generator_id=generator.pk).exists()
        for kind in (Plan, Account)
    )


def _first(account: Account, name: str) -> Any:
    own = getattr(account, name)
    return getattr(account.plan, name) if own is None else own


def assign(user_ids: Iterable[int], plan: Plan | None) -> list[int]:
    """Give users a plan of their own, or with None take it away; returns whose has changed.

    In batches, each locked in one order, so that neither submissions nor a second member of the
    staff wait for long, or for each other.
    """
    changed: list[int] = []
    wanted = sorted(set(user_ids))
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        with transaction.atomic():
            _decide_alone()
            _make(batch)
            rows = Account.objects.select_for_update(of=("self",)).filter(user_id__in=batch)
            others = rows.exclude(own_plan=plan) if plan else rows.exclude(own_plan=None)
            found = list(others.order_by("user_id").values_list("user_id", flat=True))
            Account.objects.filter(user_id__in=found).update(own_plan=plan)
            changed += found
    return changed
