"""Whatever decides which plan holds for several accounts does so alone.

Plans, plans of groups and memberships each change accounts by triggers, a new account asks them
all. Two at the same moment would deadlock over accounts that they lock in other orders, or each
miss what the other has not committed, so that an account stays with a plan of before.
"""

from django.db import migrations

from tasks_app.models.plans import DECIDING

_ALONE = f"""
CREATE FUNCTION tasks_app_decide_alone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock({DECIDING});
    RETURN NULL;
END $$;
CREATE TRIGGER account_decided_alone BEFORE INSERT ON tasks_app_account
    FOR EACH STATEMENT EXECUTE FUNCTION tasks_app_decide_alone();
CREATE TRIGGER groups_decided_alone BEFORE INSERT OR UPDATE OR DELETE ON auth_user_groups
    FOR EACH STATEMENT EXECUTE FUNCTION tasks_app_decide_alone();
CREATE TRIGGER groupplans_decided_alone BEFORE INSERT OR UPDATE OR DELETE ON tasks_app_groupplan
    FOR EACH STATEMENT EXECUTE FUNCTION tasks_app_decide_alone();
CREATE TRIGGER plans_decided_alone
    BEFORE INSERT OR DELETE OR UPDATE OF is_default, rank, name ON tasks_app_plan
    FOR EACH STATEMENT EXECUTE FUNCTION tasks_app_decide_alone();
"""
_TOGETHER = """
DROP TRIGGER plans_decided_alone ON tasks_app_plan;
DROP TRIGGER groupplans_decided_alone ON tasks_app_groupplan;
DROP TRIGGER groups_decided_alone ON auth_user_groups;
DROP TRIGGER account_decided_alone ON tasks_app_account;
DROP FUNCTION tasks_app_decide_alone();
"""


class Migration(migrations.Migration):
    """Reversible; the release before runs on it."""

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("tasks_app", "0016_pressure"),
    ]

    operations = [migrations.RunSQL(_ALONE, _TOGETHER)]
