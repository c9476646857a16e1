"""Plans in the admin: given to many, to groups, shown with their use, obeyed at once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from tasks_app.core import accounts, submission
from tasks_app.core.errors import Invalid, TooMany
from tasks_app.core.submission import Wish
from tasks_app.lifecycle import Priority
from tasks_app.models import Account, Generator, GroupPlan, Plan
from tests.conftest import make_user
from tests.integration.helpers import submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_slots")]


@pytest.fixture
def pro(db: None) -> Plan:
    return Plan.objects.create(name="pro", max_day=100)


def own_plan(user: Any) -> str | None:
    plan = Account.objects.get(user=user).own_plan
    return plan.name if plan else None


def act(browser: Client, where: str, *users: Any, **data: Any) -> Any:
    chosen = {"action": "assign_plan", "_selected_action": [str(user.pk) for user in users]}
    return browser.post(f"/admin/{where}/", chosen | data, follow=True)


@pytest.mark.parametrize("where", ["tasks_app/account", "auth/user"])
def test_a_plan_is_assigned_to_many_after_asking_which(
    root: Client, alice: Any, bob: Any, pro: Plan, where: str
) -> None:
    carol = make_user("carol")
    asked = act(root, where, alice, bob)
    text = asked.content.decode()
    assert "The plan of 2 users" in text and "pro" in text
    assert own_plan(alice) is None
    done = act(root, where, alice, bob, assign="1", plan=str(pro.pk))
    assert [str(one) for one in done.context["messages"]] == ["2 accounts have another plan now."]
    assert (own_plan(alice), own_plan(bob), own_plan(carol)) == ("pro", "pro", None)
    assert LogEntry.objects.filter(change_message="plan: pro").count() == 2
    act(root, where, alice, assign="1", plan="")
    assert (own_plan(alice), own_plan(bob)) == (None, "pro")
    wrong = act(root, where, bob, assign="1", plan="nonsense")
    assert wrong.status_code == 200
    assert own_plan(bob) == "pro"


def test_users_without_an_account_get_one(root: Client, pro: Plan) -> None:
    late = get_user_model().objects.create(username="late")
    act(root, "auth/user", late, assign="1", plan=str(pro.pk))
    assert own_plan(late) == "pro"


def test_all_rows_of_a_list_may_be_chosen(root: Client, alice: Any, bob: Any, pro: Plan) -> None:
    everybody = {"select_across": "1"}
    act(root, "tasks_app/account", alice, assign="1", plan=str(pro.pk), **everybody)
    assert own_plan(bob) == "pro"


def test_only_who_may_change_accounts_assigns(
    staff_with: Callable[..., Client], alice: Any, pro: Plan
) -> None:
    looking = staff_with()
    for where in ("tasks_app/account", "auth/user"):
        act(looking, where, alice, assign="1", plan=str(pro.pk))
    assert own_plan(alice) is None
    users_only = staff_with("change_user", name="dave")
    act(users_only, "auth/user", alice, assign="1", plan=str(pro.pk))
    assert own_plan(alice) is None
    act(
        staff_with("change_account", name="erin"),
        "tasks_app/account",
        alice,
        assign="1",
        plan=str(pro.pk),
    )
    assert own_plan(alice) == "pro"


def test_a_group_gets_a_plan_in_its_form(root: Client, alice: Any, pro: Plan) -> None:
    group = Group.objects.create(name="members")
    alice.groups.add(group)
    inline = {"darkroom_plan-TOTAL_FORMS": 1, "darkroom_plan-INITIAL_FORMS": 0}
    form = {"name": "members", "darkroom_plan-0-plan": str(pro.pk), **inline}
    answer = root.post(f"/admin/auth/group/{group.pk}/change/", form)
    assert answer.status_code == 302
    assert Account.objects.get(user=alice).plan == pro
    page = root.get(f"/admin/tasks_app/account/{alice.pk}/change/").content.decode()
    assert "group" in page
    assert "pro" in root.get("/admin/tasks_app/groupplan/").content.decode()


def test_a_new_default_takes_the_place_of_the_one_before(
    root: Client, alice: Any, bob: Any, pro: Plan
) -> None:
    Account.objects.filter(user=bob).update(own_plan=Plan.objects.get(is_default=True))
    form = {
        "name": "pro",
        "is_default": "on",
        "rank": 0,
        "max_open": 30,
        "max_running": 3,
        "submit_interval": 10,
        "submit_burst": 3,
        "weight": 1,
    }
    answer = root.post(f"/admin/tasks_app/plan/{pro.pk}/change/", form)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert list(Plan.objects.filter(is_default=True)) == [pro]
    assert Account.objects.get(user=alice).plan == pro
    assert Account.objects.get(user=bob).plan.name == "standard"


def test_plans_of_groups_stay(root: Client, pro: Plan) -> None:
    GroupPlan.objects.create(group=Group.objects.create(name="members"), plan=pro)
    root.post(f"/admin/tasks_app/plan/{pro.pk}/delete/", {"post": "yes"})
    assert Plan.objects.filter(pk=pro.pk).exists()


def test_a_generator_of_a_list_is_not_deleted(
    root: Client, sleeper: Generator, pro: Plan, alice: Any
) -> None:
    path = f"/admin/tasks_app/generator/{sleeper.pk}/delete/"
    pro.generators.add(sleeper)
    assert root.post(path, {"post": "yes"}).status_code == 403
    pro.generators.clear()
    alice.account.generators.add(sleeper)
    assert root.post(path, {"post": "yes"}).status_code == 403
    alice.account.generators.clear()
    assert root.post(path, {"post": "yes"}).status_code == 302


def test_use_stands_beside_each_limit(
    root: Client, alice: Any, bob: Any, sleeper: Generator
) -> None:
    Account.objects.filter(user=alice).update(max_day=2, max_open=7)
    for user in (alice, alice, bob):
        submit(user)
    rows = root.get("/admin/tasks_app/account/").content.decode()
    for text in ("2 / 7", "2 / 2", "2 / ∞", "1 / ∞"):
        assert text in rows
    page = root.get(f"/admin/tasks_app/account/{alice.pk}/change/").content.decode()
    assert "2 / 7" in page and "2 / 2" in page
    plan = Plan.objects.get(is_default=True)
    page = root.get(f"/admin/tasks_app/plan/{plan.pk}/change/").content.decode()
    assert "3 by 2 users; at most 2 / 2; 1 at their limit" in page
    assert "nobody" in page  # nothing runs


def test_a_list_of_accounts_costs_the_same_for_many(
    root: Client, sleeper: Generator, django_assert_max_num_queries: Any
) -> None:
    users = [make_user(f"user{number}") for number in range(30)]
    for user in users:
        submit(user)
    root.get("/admin/tasks_app/account/")
    with django_assert_max_num_queries(20):
        assert "user29" in root.get("/admin/tasks_app/account/").content.decode()


CHANGES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"max_open": 0}, {}, "too_many_open_tasks"),
    ({"max_day": 0}, {}, "day_limit"),
    ({"max_month": 0}, {}, "month_limit"),
    ({"max_n": 1}, {"params": {"prompt": "x", "n": 2}}, "/params/n"),
    ({"max_side": 512}, {"params": {"prompt": "x", "width": 640}}, "/params/width"),
    ({"max_wait": 60}, {"max_wait": 61.0}, "/max_wait"),
    ({"max_priority": "low"}, {"priority": Priority.NORMAL}, "/priority"),
]


@pytest.mark.parametrize(("limit", "asked", "refused"), CHANGES, ids=lambda one: str(one)[:30])
@pytest.mark.parametrize("where", ["plan", "account"])
def test_the_next_request_obeys_what_the_form_says(
    root: Client, where: str, limit: dict[str, Any], asked: dict[str, Any], refused: str
) -> None:
    Generator.objects.create(name="sketch", title="Sketch", adapter="sketch")
    user = get_user_model().objects.create(username="frank")
    account = accounts.account_of(user)
    wish = Wish(**{"generator": "sketch", "params": {"prompt": "x"}, **asked})
    submission.submit(user, wish)
    plan = account.plan
    form = {
        "name": plan.name,
        "is_default": "on",
        "rank": 0,
        "max_open": 30,
        "max_running": 3,
        "submit_interval": 0,
        "submit_burst": 1,
        "weight": 1,
        **limit,
    }
    path = f"plan/{plan.pk}" if where == "plan" else f"account/{user.pk}"
    answer = root.post(f"/admin/tasks_app/{path}/change/", form)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    with pytest.raises((Invalid, TooMany)) as found:
        submission.submit(user, wish)
    if isinstance(found.value, Invalid):
        assert [error.pointer for error in found.value.errors] == [refused]
    else:
        assert found.value.code == refused
