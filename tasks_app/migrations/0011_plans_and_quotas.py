"""Limits that may be left out, counts per day, plans of groups, and which plan holds.

``account.plan_id`` stays the plan that holds, as claims and the release before read it, and
triggers keep it. Accounts of another plan than the default one keep theirs as their own; those
of the default plan follow it from now on.
"""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_PLAN_OF = """
CREATE FUNCTION tasks_app_plan_of(member integer, own uuid, held uuid) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(
        own,
        (SELECT plan.id
         FROM auth_user_groups AS membership
         JOIN tasks_app_groupplan AS chosen ON chosen.group_id = membership.group_id
         JOIN tasks_app_plan AS plan ON plan.id = chosen.plan_id
         WHERE membership.user_id = member
         ORDER BY plan.rank DESC, plan.name LIMIT 1),
        (SELECT id FROM tasks_app_plan WHERE is_default),
        held
    );
$$;
"""

# Whoever writes another plan, and no own one, has chosen it: the release before does so.
_SETTLE = """
CREATE FUNCTION tasks_app_settle_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.own_plan_id IS NULL AND NEW.plan_id IS DISTINCT FROM
            (SELECT id FROM tasks_app_plan WHERE is_default)
        THEN
            NEW.own_plan_id := NEW.plan_id;
        END IF;
    ELSIF NEW.plan_id IS DISTINCT FROM OLD.plan_id
        AND NEW.own_plan_id IS NOT DISTINCT FROM OLD.own_plan_id
    THEN
        NEW.own_plan_id := NEW.plan_id;
    END IF;
    NEW.plan_id := tasks_app_plan_of(NEW.user_id, NEW.own_plan_id, NEW.plan_id);
    RETURN NEW;
END $$;
CREATE TRIGGER account_settled BEFORE INSERT OR UPDATE OF plan_id, own_plan_id
    ON tasks_app_account FOR EACH ROW EXECUTE FUNCTION tasks_app_settle_account();
"""

# The update of a column to itself lets the trigger above decide again.
_FOLLOW = """
CREATE FUNCTION tasks_app_follow_groups() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tasks_app_account SET own_plan_id = own_plan_id
    WHERE own_plan_id IS NULL AND (
        (TG_OP <> 'INSERT' AND user_id = OLD.user_id)
        OR (TG_OP <> 'DELETE' AND user_id = NEW.user_id)
    );
    RETURN NULL;
END $$;
CREATE TRIGGER account_follows_groups AFTER INSERT OR UPDATE OR DELETE ON auth_user_groups
    FOR EACH ROW EXECUTE FUNCTION tasks_app_follow_groups();

CREATE FUNCTION tasks_app_follow_plans() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tasks_app_account SET own_plan_id = own_plan_id
    WHERE own_plan_id IS NULL
        AND plan_id IS DISTINCT FROM tasks_app_plan_of(user_id, NULL, plan_id);
    RETURN NULL;
END $$;
CREATE TRIGGER account_follows_groupplans AFTER INSERT OR UPDATE OR DELETE ON tasks_app_groupplan
    FOR EACH STATEMENT EXECUTE FUNCTION tasks_app_follow_plans();
CREATE TRIGGER account_follows_plans AFTER INSERT OR UPDATE OF is_default, rank, name
    ON tasks_app_plan FOR EACH STATEMENT EXECUTE FUNCTION tasks_app_follow_plans();
"""

_KEEP = """
UPDATE tasks_app_account SET own_plan_id = plan_id
WHERE plan_id IS DISTINCT FROM (SELECT id FROM tasks_app_plan WHERE is_default);
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
"""
PLANS = _KEEP + _PLAN_OF + _SETTLE + _FOLLOW
NO_PLANS = """
DROP TRIGGER account_follows_plans ON tasks_app_plan;
DROP TRIGGER account_follows_groupplans ON tasks_app_groupplan;
DROP TRIGGER account_follows_groups ON auth_user_groups;
DROP TRIGGER account_settled ON tasks_app_account;
DROP FUNCTION tasks_app_follow_plans();
DROP FUNCTION tasks_app_follow_groups();
DROP FUNCTION tasks_app_settle_account();
DROP FUNCTION tasks_app_plan_of(integer, uuid, uuid);
"""

# Counts change with every submission: room on the page, and vacuum before dead rows pile up.
VACUUM = """
ALTER TABLE tasks_app_dayuse SET (autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 1, fillfactor = 85);
"""


class Migration(migrations.Migration):
    """Reversible; the plan that held then stays."""

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("tasks_app", "0010_callbacks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DayUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("number", models.PositiveIntegerField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="GroupPlan",
            fields=[
                (
                    "group",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="darkroom_plan",
                        serialize=False,
                        to="auth.group",
                        verbose_name="group",
                    ),
                ),
            ],
            options={
                "verbose_name": "plan of a group",
                "verbose_name_plural": "plans of groups",
            },
        ),
        migrations.AddField(
            model_name="account",
            name="generators",
            field=models.ManyToManyField(
                blank=True,
                related_name="+",
                to="tasks_app.generator",
                verbose_name="allowed generators",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="max_day",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="From midnight to midnight UTC. Empty: no limit.",
                null=True,
                validators=[django.core.validators.MaxValueValidator(100000000)],
                verbose_name="tasks per day",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="max_month",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="From the first of a month, UTC. Empty: no limit.",
                null=True,
                validators=[django.core.validators.MaxValueValidator(100000000)],
                verbose_name="tasks per month",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="max_n",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The parameter n. Empty: as many as the generator makes.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000),
                ],
                verbose_name="most pictures per task",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="max_priority",
            field=models.CharField(
                blank=True,
                choices=[("high", "high"), ("normal", "normal"), ("low", "low")],
                max_length=8,
                null=True,
                verbose_name="highest priority",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="max_side",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The parameters width and height. Empty: as large as the generator makes them.",  # noqa: E501
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(65536),
                ],
                verbose_name="longest side in pixels",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="max_wait",
            field=models.FloatField(
                blank=True,
                help_text="A task waits this long at most before it is given up. Empty: a day.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(86400),
                ],
                verbose_name="longest wait in seconds",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="own_plan",
            field=models.ForeignKey(
                blank=True,
                help_text="Empty: the plan of the user's groups, or else the default one.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tasks_app.plan",
                verbose_name="own plan",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="result_days",
            field=models.FloatField(
                blank=True,
                help_text="Of tasks that end from now on. Empty: as DARKROOM_RESULT_DAYS says.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(3650),
                ],
                verbose_name="days that results are kept",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="generators",
            field=models.ManyToManyField(
                blank=True,
                help_text="None chosen: all that are offered.",
                related_name="+",
                to="tasks_app.generator",
                verbose_name="allowed generators",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="max_day",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="From midnight to midnight UTC. Empty: no limit.",
                null=True,
                validators=[django.core.validators.MaxValueValidator(100000000)],
                verbose_name="tasks per day",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="max_month",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="From the first of a month, UTC. Empty: no limit.",
                null=True,
                validators=[django.core.validators.MaxValueValidator(100000000)],
                verbose_name="tasks per month",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="max_n",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The parameter n. Empty: as many as the generator makes.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000),
                ],
                verbose_name="most pictures per task",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="max_priority",
            field=models.CharField(
                blank=True,
                choices=[("high", "high"), ("normal", "normal"), ("low", "low")],
                max_length=8,
                null=True,
                verbose_name="highest priority",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="max_side",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The parameters width and height. Empty: as large as the generator makes them.",  # noqa: E501
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(65536),
                ],
                verbose_name="longest side in pixels",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="max_wait",
            field=models.FloatField(
                blank=True,
                help_text="A task waits this long at most before it is given up. Empty: a day.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(86400),
                ],
                verbose_name="longest wait in seconds",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="rank",
            field=models.IntegerField(
                db_default=0,
                default=0,
                help_text="Who has plans by several groups gets the one with the highest rank.",
                verbose_name="rank",
            ),
        ),
        migrations.AddField(
            model_name="plan",
            name="result_days",
            field=models.FloatField(
                blank=True,
                help_text="Of tasks that end from now on. Empty: as DARKROOM_RESULT_DAYS says.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(3650),
                ],
                verbose_name="days that results are kept",
            ),
        ),
        migrations.AlterField(
            model_name="account",
            name="plan",
            field=models.ForeignKey(
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="accounts",
                to="tasks_app.plan",
                verbose_name="plan that holds",
            ),
        ),
        migrations.AlterField(
            model_name="plan",
            name="is_default",
            field=models.BooleanField(
                default=False,
                help_text="Of all users who have no plan of their own and none by a group.",
                verbose_name="default",
            ),
        ),
        migrations.AddConstraint(
            model_name="account",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("max_day__isnull", True),
                        models.Q(("max_day__gte", 0), ("max_day__lte", 100000000)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_month__isnull", True),
                        models.Q(("max_month__gte", 0), ("max_month__lte", 100000000)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_n__isnull", True),
                        models.Q(("max_n__gte", 1), ("max_n__lte", 1000)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_side__isnull", True),
                        models.Q(("max_side__gte", 1), ("max_side__lte", 65536)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_wait__isnull", True),
                        models.Q(("max_wait__gte", 1), ("max_wait__lte", 86400)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("result_days__isnull", True),
                        models.Q(("result_days__gte", 0.001), ("result_days__lte", 3650)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_priority__isnull", True),
                        ("max_priority__in", ["high", "low", "normal"]),
                        _connector="OR",
                    ),
                ),
                name="account_quotas_bounded",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("max_day__isnull", True),
                        models.Q(("max_day__gte", 0), ("max_day__lte", 100000000)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_month__isnull", True),
                        models.Q(("max_month__gte", 0), ("max_month__lte", 100000000)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_n__isnull", True),
                        models.Q(("max_n__gte", 1), ("max_n__lte", 1000)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_side__isnull", True),
                        models.Q(("max_side__gte", 1), ("max_side__lte", 65536)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_wait__isnull", True),
                        models.Q(("max_wait__gte", 1), ("max_wait__lte", 86400)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("result_days__isnull", True),
                        models.Q(("result_days__gte", 0.001), ("result_days__lte", 3650)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("max_priority__isnull", True),
                        ("max_priority__in", ["high", "low", "normal"]),
                        _connector="OR",
                    ),
                ),
                name="plan_quotas_bounded",
            ),
        ),
        migrations.AddField(
            model_name="dayuse",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="groupplan",
            name="plan",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="groups",
                to="tasks_app.plan",
                verbose_name="plan",
            ),
        ),
        migrations.AddConstraint(
            model_name="dayuse",
            constraint=models.UniqueConstraint(fields=("owner", "day"), name="dayuse_owner_day"),
        ),
        migrations.AddConstraint(
            model_name="dayuse",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gte", 0)), name="dayuse_never_negative"
            ),
        ),
        migrations.RunSQL(PLANS, NO_PLANS),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
    ]
