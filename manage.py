#!/usr/bin/env python
"""Darkroom's command line."""

import os
import sys


def main() -> None:
    """Run one management command."""
    if sys.argv[1:2] == ["up"]:
        # It makes the secrets and starts the servers that the settings ask for.
        from aigc_site.embedded.service import main as up

        sys.exit(up(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aigc_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
