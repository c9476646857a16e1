"""Which plan holds for whom: own before group before default, whoever changes what."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from tasks_app.core import accounts
from tasks_app.models import Account, DayUse, GroupPlan, Plan
from tests.conftest import make_user

pytestmark = pytest.mark.django_db


def plan(name: str, rank: int = 0, **fields: Any) -> Plan:
    return Plan.objects.create(name=name, rank=rank, **fields)


def group(name: str, of: Plan | None, *members: Any) -> Group:
    made = Group.objects.create(name=name)
    if of is not None:
        GroupPlan.objects.create(group=made, plan=of)
    for member in members:
        member.groups.add(made)
    return made


def holds(user: Any) -> str:
    return Account.objects.get(user=user).plan.name


def test_own_before_group_before_default(alice: Any, bob: Any) -> None:
    team, pro = plan("team"), plan("pro")
    assert holds(alice) == "standard"
    group("members", team, alice)
    assert (holds(alice), holds(bob)) == ("team", "standard")
    Account.objects.filter(user=alice).update(own_plan=pro)
    assert holds(alice) == "pro"
    Account.objects.filter(user=alice).update(own_plan=None)
    assert holds(alice) == "team"
    alice.groups.clear()
    assert holds(alice) == "standard"


def test_among_groups_the_highest_rank_wins_then_the_name(alice: Any) -> None:
    plans = [plan("b", 5), plan("a", 5), plan("z", 1), plan("m", -1)]
    for number, one in enumerate(plans):
        group(str(number), one, alice)
    group("rights only", None, alice)
    assert holds(alice) == "a"
    plans[3].rank = 9
    plans[3].save()
    assert holds(alice) == "m"
    Plan.objects.filter(name="b").update(rank=10)
    assert holds(alice) == "b"
    Plan.objects.filter(name="b").update(rank=5)
    Plan.objects.filter(name="m").update(rank=5)
    Plan.objects.filter(name="a").update(name="y")
    assert holds(alice) == "b"


def test_a_group_gets_changes_and_loses_its_plan(alice: Any) -> None:
    team, pro = plan("team"), plan("pro")
    members = group("members", None, alice)
    chosen = GroupPlan.objects.create(group=members, plan=team)
    assert holds(alice) == "team"
    GroupPlan.objects.filter(group=members).update(plan=pro)
    assert holds(alice) == "pro"
    chosen.delete()
    assert holds(alice) == "standard"
    GroupPlan.objects.create(group=members, plan=team)
    members.delete()
    assert holds(alice) == "standard"


def test_who_comes_later_gets_the_plan_of_the_group() -> None:
    members = group("members", plan("team"))
    user = get_user_model().objects.create(username="late")
    user.groups.add(members)
    assert accounts.account_of(user).plan.name == "team"
    assert holds(user) == "team"


def test_another_default_moves_those_who_follow_it_and_no_one_else(alice: Any, bob: Any) -> None:
    standard = Plan.objects.get(is_default=True)
    Account.objects.filter(user=bob).update(own_plan=standard)
    other = plan("other")
    Plan.objects.update(is_default=False)
    assert holds(alice) == "standard"
    Plan.objects.filter(pk=other.pk).update(is_default=True)
    assert (holds(alice), holds(bob)) == ("other", "standard")


def test_writing_the_plan_itself_chooses_it(alice: Any) -> None:
    """As the release before does while an upgrade goes on."""
    pro = plan("pro")
    Account.objects.filter(user=alice).update(plan=pro)
    account = Account.objects.get(user=alice)
    assert (account.plan, account.own_plan) == (pro, pro)
    late = get_user_model().objects.create(username="late")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tasks_app_account (user_id, plan_id) VALUES (%s, %s)", [late.pk, pro.pk]
        )
    assert Account.objects.get(user=late).own_plan == pro


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("max_day", 100_000_001),
        ("max_month", 100_000_001),
        ("max_n", 0),
        ("max_n", 1_001),
        ("max_side", 0),
        ("max_side", 65_537),
        ("max_wait", 0.5),
        ("max_wait", float("nan")),
        ("max_wait", 86_401),
        ("result_days", 0),
        ("result_days", float("inf")),
        ("max_priority", "urgent"),
    ],
)
def test_limits_that_may_be_left_out_have_bounds(alice: Any, column: str, value: Any) -> None:
    for rows in (Plan.objects.all(), Account.objects.filter(user=alice)):
        with pytest.raises(IntegrityError, match="quotas_bounded"), transaction.atomic():
            rows.update(**{column: value})


def test_counts_are_never_negative(alice: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        DayUse.objects.create(owner=alice, day="2026-01-01", number=-1)


@pytest.fixture
def at() -> Any:
    def migrate(name: str | None) -> None:
        call_command("migrate", "tasks_app", *([name] if name else []), verbosity=0)

    yield migrate
    migrate(None)


@pytest.mark.django_db(transaction=True)
def test_accounts_keep_their_plan_through_the_migration_and_back(
    at: Callable[[str | None], None],
) -> None:
    alice, bob = make_user("alice"), make_user("bob")
    pro = plan("pro")
    Account.objects.filter(user=bob).update(plan=pro)
    at("0010")
    with connection.cursor() as cursor:
        cursor.execute("SELECT user_id, plan_id FROM tasks_app_account ORDER BY user_id")
        standard = Plan.objects.values_list("pk").get(is_default=True)[0]
        assert cursor.fetchall() == [(alice.pk, standard), (bob.pk, pro.pk)]
    at(None)
    assert Account.objects.get(user=alice).own_plan is None
    assert Account.objects.get(user=bob).own_plan == pro
    assert (holds(alice), holds(bob)) == (Plan.objects.get(is_default=True).name, "pro")
