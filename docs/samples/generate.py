"""Generate one picture with Darkroom: submit, poll, download. Python 3.11, no dependencies.

    export DARKROOM_URL=http://127.0.0.1:8000 DARKROOM_API_KEY=dk_…
    python3 generate.py '{"prompt": "a red boat at dawn"}' boat.png

Exit status: 0 the file is there; 1 it could not be made; 2 it was not ready in time.
"""

import hashlib
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
import uuid
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urljoin, urlsplit


def setting(name):
    """Return what the environment must say."""
    value = os.environ.get(name)
    if not value:
        sys.exit(f"{name} is not set: see docs/polling.md for where it comes from.")
    return value


URL = setting("DARKROOM_URL").rstrip("/")
KEY = setting("DARKROOM_API_KEY")
GENERATOR = os.environ.get("GENERATOR", "sketch")
SECONDS = float(os.environ.get("SECONDS", "600"))
TIMEOUT = 30
LONGEST_PAUSE = 10.0


class TimeIsOver(Exception):
    """The picture was not ready in time."""


class Deadline:
    """One moment for everything: submitting, waiting and downloading."""

    def __init__(self, seconds):
        self._at = time.monotonic() + seconds

    def left(self):
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise TimeIsOver
        return seconds

    def pause(self, seconds):
        """Sleep a little longer than asked for, so that many programs do not come at once."""
        time.sleep(min(seconds * random.uniform(1.0, 1.25), self.left()))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are followed by hand: the API key is for the API alone."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def ask(method, url, headers, body=None, timeout=TIMEOUT):
    """Send one request; returns (status, headers, content). Raises OSError or HTTPException."""
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with OPENER.open(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:  # 3xx, 4xx and 5xx are answers like any other
        with answer:
            return answer.code, answer.headers, answer.read()


def ask_until_answered(deadline, method, path, headers, body=None):
    """Repeat a request until the service has answered it: safe for all that this program sends.

    A lost connection, 5xx and 429 are not answers. A submission may have arrived all the same,
    but it has an idempotency key: sent again, it is the same task.
    """
    tries = 0
    headers = {"Authorization": f"Bearer {KEY}", **headers}
    while True:
        hint = None
        try:
            answer = ask(method, URL + path, headers, body, min(TIMEOUT, deadline.left()))
            status, received, _ = answer
            if status < 500 and status != 429:
                return answer
            hint = received.get("Retry-After")
            print(f"{method} {path}: {status}, again", file=sys.stderr)
        except (OSError, HTTPException) as error:
            print(f"{method} {path}: {error or type(error).__name__}, again", file=sys.stderr)
        backoff = min(LONGEST_PAUSE, 0.5 * 2**tries)
        deadline.pause(float(hint) if hint else random.uniform(0.1, backoff))
        tries += 1


def refused(status, content):
    """Say why a request was refused; no repetition would change that."""
    problem = json.loads(content)
    fields = "".join(f"\n  {one['pointer']}: {one['detail']}" for one in problem.get("errors", []))
    sys.exit(f"{status} {problem['code']}: {problem['detail']}{fields}")


def submit(deadline, wish, key):
    """Submit a task; returns its path and the seconds until a first poll is worth it."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    body = json.dumps(wish).encode()
    status, received, content = ask_until_answered(deadline, "POST", "/v1/tasks", headers, body)
    if status not in (200, 202):
        refused(status, content)
    return received["Location"], float(received.get("Retry-After") or 0)


def wait(deadline, path, seconds):
    """Poll a task until it has ended; returns it."""
    headers = {}
    while True:
        deadline.pause(seconds)
        status, received, content = ask_until_answered(deadline, "GET", path, headers)
        if status == 200:
            task = json.loads(content)
            print(f"{task['status']} {task['progress']} %", file=sys.stderr)
            if task["status"] in ("success", "failed", "timeout"):
                return task
            headers = {"If-None-Match": received["ETag"]}
        elif status != 304:
            refused(status, content)
        seconds = float(received["Retry-After"])


def download(deadline, artifact, target):
    """Save a file, if it is the one that was promised."""
    path = urlsplit(artifact["url"]).path
    while True:
        status, received, content = ask_until_answered(deadline, "GET", path, {})
        if status != 302:
            refused(status, content)
        link = urljoin(URL + path, received["Location"])
        try:
            status, _, content = ask("GET", link, {}, timeout=min(TIMEOUT, deadline.left()))
        except (OSError, HTTPException) as error:
            print(f"download: {error or type(error).__name__}, again", file=sys.stderr)
            status = 0
        if status == 200:
            break
        deadline.pause(1)  # the link may have ended: ask for another
    if len(content) != artifact["bytes"]:
        sys.exit(f"the file has {len(content)} bytes instead of {artifact['bytes']}")
    if hashlib.sha256(content).hexdigest() != artifact["sha256"]:
        sys.exit("the file is not the one that was made: its SHA-256 differs")
    partial = target.with_name(f"{target.name}.part")
    partial.write_bytes(content)
    partial.replace(target)


def cancel(path):
    """Nobody waits for the task any more: let it not be made, if that can still be said."""
    try:
        ask_until_answered(Deadline(TIMEOUT), "DELETE", path, {})
    except TimeIsOver:
        print("could not cancel the task", file=sys.stderr)


def wish(arguments):
    """Return the parameters and the file to write, as the command line says."""
    try:
        params, target = arguments
        return json.loads(params), Path(target)
    except ValueError:
        sys.exit("""Give parameters as JSON and a file: '{"prompt": "a red boat"}' boat.png""")


def main():
    params, target = wish(sys.argv[1:])
    deadline = Deadline(SECONDS)
    # Keep the key where your own order is kept, before the first request: a program that was
    # killed sends the same request with the same key again, and gets the same task.
    key = os.environ.get("IDEMPOTENCY_KEY") or str(uuid.uuid4())
    path = None
    try:
        path, seconds = submit(deadline, {"generator": GENERATOR, "params": params}, key)
        task = wait(deadline, path, seconds)
        if task["status"] != "success":
            sys.exit(f"{task['error']['code']}: {task['error']['message']}")
        if not task["result"]["artifacts"]:
            sys.exit("the result has been removed")
        download(deadline, task["result"]["artifacts"][0], target)
    except TimeIsOver:
        if path:
            cancel(path)
        print("not ready in time", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
