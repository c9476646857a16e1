"""Callbacks of long ago, and secrets that a secret key before this one has sealed."""

import time
from typing import Final

from tasks_app import conf
from tasks_app.callbacks import outbox, sealing
from tasks_app.maintenance.report import Report

_SECONDS: Final = 2.0
"""For deleting in one pass; the next pass goes on."""


def purge(report: Report, dry_run: bool) -> None:
    """Delete ended callbacks with their log, in batches, once they are old."""
    give_up = time.monotonic() + _SECONDS
    while gone := outbox.purge(conf.get().callback_days, dry_run=dry_run):
        report.add("old callbacks deleted", gone)
        if dry_run or time.monotonic() > give_up:
            return


def reseal(report: Report, dry_run: bool) -> None:
    """Seal with today's key what was sealed with the one before."""
    done = sealing.old_seals() if dry_run else sealing.reseal()
    if done:
        report.add("secrets resealed", done)
