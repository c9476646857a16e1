"""Making the slot sets equal to the attempt table."""

import time
from typing import Final
from uuid import UUID

from tasks_app.core.claim import holder_of, running_holders
from tasks_app.gates import keys, slots
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt

BATCH: Final = 5_000


def slot_sets(report: Report, dry_run: bool) -> None:
    """Add what is missing; remove only claims whose attempt row says that they ended.

    A claim id that no row knows is left alone: its claim may be about to commit, and lives
    out its ten seconds otherwise. Slots that end soon are held on to: their worker may not reach
    Redis although it runs on. Having seen to all, this pass vouches for the sets.
    """
    if not dry_run:
        slots.notice_loss()
    begun = time.monotonic()
    running = {holder.claim_id: holder for holder in running_holders()}
    held = slots.members(keys.slots_all())
    lasting = slots.members(keys.slots_all(), seconds=slots.vouched_seconds())
    for claim_id in running.keys() - lasting:
        # A remote or fresh attempt, or one whose heartbeat has not come by yet.
        if not dry_run and still_running(claim_id):
            slots.extend(running[claim_id])
        if claim_id not in held:
            report.add("slots added")
    for attempt in _ended(held - running.keys()):
        if not dry_run:
            slots.release(holder_of(attempt))
        report.add("slots removed")
    if not dry_run:
        slots.vouch(begun)


def still_running(claim_id: UUID) -> bool:
    """Return whether the attempt is still running: it may have ended since it was read."""
    return Attempt.objects.filter(claim_id=claim_id, ended_at__isnull=True).exists()


def _ended(claim_ids: set[UUID]) -> list[Attempt]:
    if not claim_ids:
        return []
    known = Attempt.objects.select_related("task").filter(
        claim_id__in=claim_ids, ended_at__isnull=False
    )
    return list(known[:BATCH])
