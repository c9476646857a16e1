"""What granian's workers serve: the site, in a process that does not outlive granian.

kill -9 of granian's main process would leave its workers answering, and a new one would bind
beside them. Under `manage.py up` the manager ends the whole process group; under systemd or
Kubernetes nobody would, so each worker sees to it itself, when it loads this module.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time

from aigc_site.embedded.trampoline import die_with_parent
from aigc_site.serving import Serving
from aigc_site.wsgi import application as site

__all__ = ["application"]

# Set by `manage.py web --threads` and `--drain`.
application = Serving(
    site,
    int(os.environ.get("DARKROOM_WEB_THREADS", "4")),
    float(os.environ.get("DARKROOM_WEB_DRAIN", "0")),
)

_LOOK_EVERY = 1.0  # seconds, where the kernel does not tell


def end_with_granian() -> None:
    """End this process when the process that forked it ends. Does nothing outside a worker."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        return
    if sys.platform == "linux":
        die_with_parent(signal.SIGKILL)
        _end_if_orphan(parent.pid)
    else:
        threading.Thread(target=_watch, args=(parent.pid,), name="orphan", daemon=True).start()


def _watch(parent: int) -> None:
    while True:
        _end_if_orphan(parent)
        time.sleep(_LOOK_EVERY)


def _end_if_orphan(parent: int) -> None:
    if os.getppid() != parent:
        os._exit(1)


end_with_granian()
