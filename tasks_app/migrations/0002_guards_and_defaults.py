"""An append-only history, tables that change often vacuumed often, and the default plan."""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

APPEND_ONLY = """
CREATE FUNCTION tasks_app_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history is append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER event_append_only BEFORE UPDATE ON tasks_app_event
    FOR EACH ROW EXECUTE FUNCTION tasks_app_refuse_update();
"""
NOT_APPEND_ONLY = """
DROP TRIGGER event_append_only ON tasks_app_event;
DROP FUNCTION tasks_app_refuse_update();
"""

# Rows of these tables change several times in their short lives. With the default of 20 % of
# the table, a large history would keep dead rows in front of every claim.
_BUSY = ("task", "attempt", "flow", "pool", "account")
VACUUM = "".join(
    f"ALTER TABLE tasks_app_{table} SET (autovacuum_vacuum_scale_factor = 0.01, "
    f"autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 1, fillfactor = 85);"
    for table in _BUSY
)
DEFAULT_VACUUM = "".join(
    f"ALTER TABLE tasks_app_{table} RESET (autovacuum_vacuum_scale_factor, "
    f"autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay, fillfactor);"
    for table in _BUSY
)


def add_default_plan(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Every user needs a plan; its numbers are the model's defaults."""
    plan: Any = apps.get_model("tasks_app", "Plan")
    plan.objects.get_or_create(is_default=True, defaults={"name": "standard"})


class Migration(migrations.Migration):
    """Reversible; taking the plan away again is left to dropping the table."""

    dependencies = (("tasks_app", "0001_initial"),)
    operations = (
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
        migrations.RunSQL(VACUUM, DEFAULT_VACUUM),
        migrations.RunPython(add_default_plan, migrations.RunPython.noop),
    )
