"""The WSGI entry point; `manage.py web` serves it with granian."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aigc_site.settings")

application = get_wsgi_application()
