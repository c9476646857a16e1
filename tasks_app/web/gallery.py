"""The gallery: all own tasks, narrowed by state, generator, days and words.

The address says everything: it can be kept, shared with oneself and gone back to. What an
address asks for that makes no sense is left out, as if it had not been asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from tasks_app.core import documents, listing
from tasks_app.core.listing import Filter
from tasks_app.lifecycle import ErrorCode, State
from tasks_app.web.surroundings import owner_id, surroundings

PAGE: Final = 48
MAX_TEXT: Final = 200
CANCELED: Final = "canceled"
"""What readers take for a state of its own is a failure with this code."""
STATES: Final = {
    State.PENDING.value: _("Waiting"),
    State.RUNNING.value: _("Developing"),
    State.SUCCESS.value: _("Finished"),
    State.FAILED.value: _("Failed"),
    State.TIMEOUT.value: _("Timed out"),
    CANCELED: _("Canceled"),
}
_ERRORS: Final = {
    State.FAILED.value: tuple(code for code in ErrorCode if code != ErrorCode.CANCELED),
    CANCELED: (ErrorCode.CANCELED,),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an address asks for, as it is shown in the form; empty: not asked for."""

    text: str = ""
    state: str = ""
    generator: str = ""
    first: date | None = None
    last: date | None = None
    zone: str = "UTC"
    before: UUID | None = None

    @property
    def narrowed(self) -> bool:
        """Whether not all tasks are asked for."""
        return bool(self.text or self.state or self.generator or self.first or self.last)

    def filter(self, zone: tzinfo) -> Filter:
        """Return it as the core understands it; days begin and end where the reader lives."""
        return Filter(
            states=self._states(),
            errors=_ERRORS.get(self.state, ()),
            generator=self.generator or None,
            text=self.text,
            created_after=_midnight(self.first, zone),
            created_before=_midnight(_next(self.last), zone),
            before=self.before,
            limit=PAGE,
        )

    def _states(self) -> tuple[State, ...]:
        if self.state == CANCELED:
            return (State.FAILED,)
        return (State(self.state),) if self.state else ()

    def query(self) -> dict[str, str]:
        """Return it as the query of an address, without the place among the pages."""
        values = {
            "q": self.text,
            "state": self.state,
            "generator": self.generator,
            "from": self.first.isoformat() if self.first else "",
            "to": self.last.isoformat() if self.last else "",
            "zone": self.zone if self.first or self.last else "",
        }
        return {name: value for name, value in values.items() if value}


def read(query: Mapping[str, str]) -> Wanted:
    """Read an address."""
    text = " ".join(listing.words(_clean(query.get("q", ""))[:MAX_TEXT]))
    state, zone = query.get("state", ""), query.get("zone", "")
    return Wanted(
        text=text,
        state=state if state in STATES else "",
        generator=_clean(query.get("generator", ""))[:63],
        first=_day(query.get("from", "")),
        last=_day(query.get("to", "")),
        zone=zone if zone in _zones() else "UTC",
        before=_id(query.get("before", "")),
    )


@require_safe
@login_required
@ensure_csrf_cookie
def gallery(request: HttpRequest) -> HttpResponse:
    """Show a page of tasks, and how to get to the next one."""
    wanted = read(request.GET.dict())
    asked = wanted.filter(ZoneInfo(wanted.zone))
    found, cursor = listing.page(owner_id(request), asked)
    data = surroundings(request)
    data["gallery"] = {
        "items": [view.document for view in found],
        "next_cursor": str(cursor) if cursor else None,
        "searched_to": _searched_to(found, cursor),
        "query": _api_query(asked),
        "page_size": PAGE,
        "narrowed": wanted.narrowed,
    }
    context = {
        "data": data,
        "wanted": wanted,
        "states": STATES.items(),
        "generators": _choices(data["generators"], wanted.generator),
        "address": f"?{urlencode(wanted.query())}" if wanted.query() else "",
        "more": f"?{urlencode(wanted.query() | {'before': str(cursor)})}" if cursor else "",
    }
    return render(request, "web/gallery.html", context)


def _searched_to(found: list[Any], cursor: UUID | None) -> str | None:
    """Say how far back a search went that did not fill its page and may go on."""
    return documents.stamp(listing.moment_of(cursor)) if cursor and len(found) < PAGE else None


def _api_query(asked: Filter) -> str:
    """Return the same question for the API, which the script asks for more."""
    values = {
        "status": ",".join(asked.states),
        "error_code": ",".join(asked.errors),
        "generator": asked.generator or "",
        "q": asked.text,
        "created_after": documents.stamp(asked.created_after) or "",
        "created_before": documents.stamp(asked.created_before) or "",
    }
    return urlencode({name: value for name, value in values.items() if value})


def _choices(offered: list[dict[str, Any]], chosen: str) -> list[tuple[str, str]]:
    choices = [(one["name"], one["title"]) for one in offered]
    if chosen and chosen not in dict(choices):
        choices.append((chosen, chosen))  # no longer on offer, but tasks of it may be there
    return choices


def _clean(text: str) -> str:
    return text.replace("\x00", "").strip()


def _day(text: str) -> date | None:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if 1970 <= found.year <= 9000 else None


def _next(day: date | None) -> date | None:
    return day + timedelta(days=1) if day else None


def _midnight(day: date | None, zone: tzinfo) -> datetime | None:
    return datetime.combine(day, time.min, zone).astimezone(UTC) if day else None


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())
