#!/usr/bin/env python
"""Darkroom's command line."""

import os
import sys


def main() -> None:
    """Run one management command. Settings that cannot be read are one sentence, exit status 2."""
    if sys.argv[1:2] == ["up"]:
        # It makes the secrets and starts the servers that the settings ask for.
        from aigc_site.embedded.service import main as up

        sys.exit(up(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aigc_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        refuse(" ".join(str(error).split()))


def refuse(sentence: str) -> None:
    """Say why nothing can run. The doctor says it in the form it was asked for."""
    if sys.argv[1:2] == ["doctor"]:
        from tasks_app.maintenance.doctor.report import unreadable_settings

        sys.stdout.write(f"{unreadable_settings(sentence, as_json='--json' in sys.argv)}\n")
    else:
        sys.stderr.write(f"darkroom: {sentence}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
