"""`python -m aigc_site.embedded.database --env-file PATH --url URL`: migrate, then bootstrap.

Two commands in one process, because each loading of Django costs a second of the start.
"""

import sys

import django
from django.core.management import call_command


def main() -> None:
    """Raises what the commands raise."""
    django.setup()
    call_command("migrate", interactive=False)
    call_command("bootstrap", *sys.argv[1:])


if __name__ == "__main__":
    main()
