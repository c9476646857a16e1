"""`python -m aigc_site.embedded` is `manage.py up`: it makes what the settings need."""

import sys

from aigc_site.embedded.service import main

if __name__ == "__main__":
    sys.exit(main())
