"""`python -m aigc_site.pgclient PROGRAM…`: psql, pg_dump or pg_restore on DATABASE_URL.

What the URL says goes into the variables that libpq reads: on a command line, every user of the
host could read the password. `name` as the program prints the name of the database.
"""

import os
import sys
from collections.abc import Sequence

from psycopg import pq

from aigc_site import env


def variables(dsn: str) -> dict[str, str]:
    """Return libpq's environment variables for a URL. Raises `BadSetting`."""
    env.database(dsn)
    options = pq.Conninfo.parse(dsn.encode())
    return {
        option.envvar.decode(): option.val.decode()
        for option in options
        if option.envvar and option.val is not None
    }


def main(arguments: Sequence[str]) -> int:
    """Become the program; return only when it cannot be."""
    if not arguments:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    try:
        connection = variables(env.secret("DATABASE_URL"))
    except env.BadSetting as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if list(arguments) == ["name"]:
        sys.stdout.write(f"{connection['PGDATABASE']}\n")
        return 0
    try:
        os.execvpe(arguments[0], list(arguments), os.environ | connection)  # noqa: S606 - no shell
    except OSError as error:
        sys.stderr.write(f"{arguments[0]}: {error.strerror}\n")
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
