"""Everything that decides which plans hold, at once: nobody deadlocks, and no account is missed."""

import contextlib

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection

from tasks_app.core import accounts
from tasks_app.core.errors import TooMany
from tasks_app.models import Account, Generator, GroupPlan, Plan
from tests.conftest import make_user
from tests.integration.core.test_races import together
from tests.integration.helpers import submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]

STEPS = 10

_MISSED = """
SELECT user_id FROM tasks_app_account
WHERE plan_id IS DISTINCT FROM tasks_app_plan_of(user_id, own_plan_id, plan_id)
"""


class Staff:
    """All that staff may do to the plans of a few users."""

    def __init__(self) -> None:
        self.users = [make_user(f"user{number}") for number in range(6)]
        self.plans = [Plan.objects.get(is_default=True)]
        for name in ("team", "pro"):
            self.plans.append(Plan.objects.create(name=name, submit_interval=0, max_open=1_000))
        self.group = Group.objects.create(name="members")
        GroupPlan.objects.create(group=self.group, plan=self.plans[1])

    def assigns(self) -> None:
        for step in range(STEPS):
            chosen = [user.pk for user in self.users[step % 3 :]]
            accounts.assign(chosen, [None, *self.plans][step % 4])

    def renews_the_default(self, turn: int) -> None:
        for step in range(STEPS):
            plan = Plan.objects.get(pk=self.plans[(step + turn) % 3].pk)
            plan.is_default = True
            accounts.save_plan(plan)

    def changes_the_group(self) -> None:
        for step in range(STEPS):
            GroupPlan.objects.filter(group=self.group).update(plan=self.plans[step % 3])

    def moves_members(self) -> None:
        for step in range(STEPS):
            self.group.user_set.set(self.users[step % 4 :: 2])

    def makes_accounts(self) -> None:
        for step in range(STEPS):
            accounts.account_of(get_user_model().objects.create(username=f"new{step}"))

    def submits(self) -> None:
        for step in range(STEPS):
            with contextlib.suppress(TooMany):
                submit(self.users[-1 - step % 6])


def test_whatever_decides_which_plans_hold_does_so_alone(sleeper: Generator) -> None:
    staff = Staff()
    raised = together(
        *[staff.assigns] * 2,
        lambda: staff.renews_the_default(0),
        lambda: staff.renews_the_default(1),
        staff.changes_the_group,
        staff.moves_members,
        staff.makes_accounts,
        staff.submits,
    )
    assert raised == []
    with connection.cursor() as cursor:
        cursor.execute(_MISSED)
        assert cursor.fetchall() == []
    # Nobody chose a plan for those who came meanwhile.
    assert not Account.objects.filter(user__username__startswith="new", own_plan__isnull=False)
