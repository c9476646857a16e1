"""What was asked and answered in a real run; ids and times are those of that run.

A test asks the same of a service of today and compares the answers' members.
"""

from typing import Any, Final

ID: Final = "01a228be-6f6e-773b-83cb-e22147fcc708"
_FILE: Final = "01a228be-7518-75b4-9b60-efccb6604fa0"
_OTHER: Final = "019a2f5f-0b5e-7c02-b1f4-77d2a9e01c3d"

SUBMISSION: Final[dict[str, Any]] = {
    "generator": "sketch",
    "params": {"prompt": "a red boat on a calm lake at dawn", "width": 512, "height": 512},
    "priority": "normal",
    "max_wait": 3600,
    "metadata": {"order": 7},
}

_PARAMS: Final[dict[str, Any]] = {
    "prompt": "a red boat on a calm lake at dawn",
    "negative_prompt": "",
    "style": "auto",
    "detail": "standard",
    "format": "png",
    "seed": None,
    "width": 512,
    "height": 512,
    "n": 1,
}
_LINKS: Final = {
    "self": f"/v1/tasks/{ID}",
    "events": f"/v1/tasks/{ID}/events",
    "retry": f"/v1/tasks/{ID}/retry",
}

PENDING: Final[dict[str, Any]] = {
    "task_id": ID,
    "status": "pending",
    "generator": "sketch",
    "kind": "image",
    "priority": "normal",
    "params": _PARAMS,
    "metadata": {"order": 7},
    "progress": 0,
    "queue_position": 3,
    "waiting_for": "slots",
    "eta_seconds": 9,
    "attempt": 0,
    "degraded": False,
    "result": None,
    "error": None,
    "retry_of": None,
    "created_at": "2026-11-29T19:18:18.737Z",
    "started_at": None,
    "finished_at": None,
    "deadline_at": None,
    "links": _LINKS,
}
RUNNING: Final = PENDING | {
    "status": "running",
    "progress": 40,
    "queue_position": None,
    "waiting_for": None,
    "eta_seconds": 2,
    "attempt": 1,
    "started_at": "2026-11-29T19:18:19.582Z",
    "deadline_at": "2026-11-29T19:23:19.582Z",
}
SUCCESS: Final = RUNNING | {
    "status": "success",
    "progress": 100,
    "eta_seconds": None,
    "result": {
        "artifacts": [
            {
                "artifact_id": _FILE,
                "url": f"http://127.0.0.1:8000/v1/artifacts/{_FILE}",
                "media_type": "image/png",
                "width": 512,
                "height": 512,
                "duration_seconds": None,
                "bytes": 302098,
                "sha256": "181b7146e89815d03a9163645a3eef7786f551aaac220ce6aa46ffda48c2ed89",
                "seed": 4680622998712396,
                "thumbnail_url": f"http://127.0.0.1:8000/v1/artifacts/{_FILE}/thumbnail",
            }
        ],
        "expires_at": "2026-12-06T19:18:20.209Z",
        "removed_at": None,
    },
    "finished_at": "2026-11-29T19:18:20.209Z",
}
REMOVED: Final = SUCCESS | {
    "result": {
        "artifacts": [],
        "expires_at": "2026-12-06T19:18:20.209Z",
        "removed_at": "2026-11-29T20:02:44.117Z",
    }
}
CANCELED: Final = PENDING | {
    "status": "failed",
    "queue_position": None,
    "waiting_for": None,
    "eta_seconds": None,
    "error": {"code": "canceled", "message": "The task was canceled.", "retryable": True},
    "finished_at": "2026-11-29T19:18:19.031Z",
}
REUSED: Final = RUNNING | {"reused": True}
RETRIED: Final = PENDING | {"retry_of": _OTHER}
PAGE: Final[dict[str, Any]] = {"items": [SUCCESS], "next_cursor": ID}
EVENTS: Final[dict[str, Any]] = {
    "items": [
        {
            "event_id": "01a228be-6f7a-764a-b718-acdf9b3f124e",
            "at": "2026-11-29T19:18:18.749Z",
            "kind": "submitted",
            "attempt": 0,
            "data": {"request_id": "01a228be6e8973dab04b5cf96983fea7"},
        },
        {
            "event_id": "01a228be-72c0-7766-a579-463166debaf4",
            "at": "2026-11-29T19:18:19.584Z",
            "kind": "claimed",
            "attempt": 1,
            "data": {},
        },
    ]
}
_TOLD: Final = "01a228be-9b1d-7d40-8f4e-27cf0b3dd1aa"
CALLBACK_SUMMARY: Final[dict[str, Any]] = {
    "callback_id": _TOLD,
    "type": "task.success",
    "task_id": ID,
    "url": "https://shop.example/hook",
    "status": "pending",
    "attempts": 1,
    "last_attempt": {
        "at": "2026-11-29T19:18:20.412Z",
        "outcome": "refused",
        "http_status": 503,
        "message": "The receiver answered, but not with 2xx.",
    },
    "created_at": "2026-11-29T19:18:20.209Z",
    "next_attempt_at": "2026-11-29T19:18:21.734Z",
    "ended_at": None,
    "links": {
        "self": f"/v1/callbacks/{_TOLD}",
        "redeliver": f"/v1/callbacks/{_TOLD}/redeliver",
    },
}
CALLBACK: Final[dict[str, Any]] = CALLBACK_SUMMARY | {
    "payload": {"type": "task.success", "timestamp": "2026-11-29T19:18:20.209Z", "data": SUCCESS},
    "log": [
        {
            "number": 1,
            **CALLBACK_SUMMARY["last_attempt"],
            "seconds": 0.031,
            "answer": "upstream is restarting",
        }
    ],
}
CALLBACK_PAGE: Final[dict[str, Any]] = {"items": [CALLBACK_SUMMARY], "next_cursor": _TOLD}
ACCOUNT: Final[dict[str, Any]] = {
    "user": "demo",
    "plan": "standard",
    "limits": {
        "open": {"limit": 30, "used": 1},
        "running": {"limit": 3, "used": 1},
        "submit": {"interval_seconds": 10.0, "burst": 3, "remaining": 2, "retry_after": 0.0},
        "day": {"limit": 100, "used": 17, "resets_at": "2026-11-30T00:00:00.000Z"},
        "month": {"limit": None, "used": 213, "resets_at": "2026-12-01T00:00:00.000Z"},
        "priorities": ["normal", "low"],
        "n": 2,
        "side": 1024,
        "max_wait": 86400.0,
        "result_days": 7.0,
    },
    "weight": 1.0,
}
