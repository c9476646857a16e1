"""`manage.py recount_tasks`: sets the counts of today and yesterday to what the tasks say."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.core import quotas
from tasks_app.core.clock import database_now
from tasks_app.maintenance import counts
from tasks_app.models import DayUse


class Command(BaseCommand):
    """One user after the other; submissions and workers go on."""

    help = "Correct what counts for days and months, should the doctor say that it is wrong."

    def handle(self, *_args: Any, **_options: Any) -> None:
        today = quotas.day_of(database_now())
        rows = DayUse.objects.filter(day__in=(today, today - timedelta(days=1)))
        days = rows.order_by("day", "owner_id").values_list("day", "owner_id")
        corrected = sum(counts.correct(day, owner_id) for day, owner_id in days.iterator())
        self.stdout.write(f"{corrected} counts corrected")
