"""The WSGI entry point; `manage.py web` serves it with granian (see ``serving``)."""

import os

from django.core.wsgi import get_wsgi_application

from aigc_site.bodies import measured
from aigc_site.chunked import bounded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aigc_site.settings")

application = measured(bounded(get_wsgi_application()))


def _count() -> None:
    from tasks_app import metrics  # needs Django to be set up

    metrics.start("web")


_count()
