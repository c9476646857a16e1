"""The ASGI entry point, for hosts that want one; Darkroom itself is served over WSGI."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aigc_site.settings")

application = get_asgi_application()
