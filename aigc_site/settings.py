"""Django settings, read from the environment by the strict readers in ``env``.

Every variable is described in ``docs/settings.md``; a test fails when one is missing there.
The app's own numbers live in ``DARKROOM`` and are read only through ``tasks_app.conf``.
"""

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext

from aigc_site import assets, database, env, refusals, staff_pages

# Lets classes such as ModelAdmin take their model as a type argument at run time, too.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = env.boolean("DARKROOM_DEBUG", False)
SECRET_KEY = env.secret("DARKROOM_SECRET_KEY")
# While a key is changed: what the old one signed is still believed, nothing new is signed with it.
_old_key = env.secret("DARKROOM_OLD_SECRET_KEY", "")
SECRET_KEY_FALLBACKS = [_old_key] if _old_key else []

# --- where it is reached -------------------------------------------------------------------
PUBLIC_URL = env.url("DARKROOM_PUBLIC_URL", "http://127.0.0.1:8000")
INSECURE_HTTP = env.boolean("DARKROOM_INSECURE_HTTP", False)
_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS = env.words(
    "DARKROOM_ALLOWED_HOSTS",
    [refusals.host_of(PUBLIC_URL), "127.0.0.1", "localhost", "[::1]"],
)
refusals.weak_key(SECRET_KEY, PUBLIC_URL)
refusals.exposed(PUBLIC_URL, ALLOWED_HOSTS, debug=DEBUG, insecure_http=INSECURE_HTTP)
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
_HTTPS = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SECURE_HSTS_SECONDS = env.integer("DARKROOM_HSTS_SECONDS", 0, minimum=0) if _HTTPS else 0
BEHIND_PROXY = env.boolean("DARKROOM_BEHIND_PROXY", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
# Without a proxy that says how it was reached, every request would be sent to https for ever.
SECURE_SSL_REDIRECT = _HTTPS and BEHIND_PROXY
# Those who look after this host ask its processes directly.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
CSRF_COOKIE_SAMESITE = SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "darkroom_session"
CSRF_COOKIE_NAME = "darkroom_csrf"
CSRF_FAILURE_VIEW = "tasks_app.api.errors.csrf_failure"
# Whether other hosts below the domain speak https is not this service's to promise; that the
# redirect needs a proxy is said by darkroom.W001, in words that help.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021", "security.W008"]

# --- what it is made of --------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold",  # before the admin, whose templates and site it replaces
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "tasks_app",  # django_rq is only called by tasks_app.bells: as an app it adds staff pages
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "tasks_app.api.middleware.RequestIdMiddleware",
    "tasks_app.web.security.ContentSecurityPolicyMiddleware",
    "tasks_app.api.threshold.ThresholdMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
if BEHIND_PROXY:
    MIDDLEWARE.insert(0, "aigc_site.proxy.ClientAddressMiddleware")
ROOT_URLCONF = "aigc_site.urls"
WSGI_APPLICATION = "aigc_site.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "tasks_app.web.surroundings.header",
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGIN_URL = "web:login"
LOGIN_REDIRECT_URL = "web:home"
LOGOUT_REDIRECT_URL = "web:login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# A body above this is 413. It leaves room for a validation answer that names the field that
# is too long, rather than a bare "too large", up to a few megabytes.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
FILE_UPLOAD_HANDLERS = ["tasks_app.api.threshold.NoFiles"]

# --- databases -----------------------------------------------------------------------------
DB_POOL = env.integer("DARKROOM_DB_POOL", 0, minimum=0, maximum=database.MOST_POOL)
# 0 closes after each request: web threads reuse their connection instead.
_age = env.integer("DARKROOM_DB_CONN_MAX_AGE", -1, minimum=0)
_kept = database.pool(sys.argv, DB_POOL, None if _age < 0 else _age)
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.database(env.secret("DATABASE_URL"))
    | {"CONN_MAX_AGE": _kept["CONN_MAX_AGE"], "CONN_HEALTH_CHECKS": True}
}
# A lost host must be noticed: libpq's own defaults wait for the kernel, which takes hours.
_CONNECT = {
    "connect_timeout": "5",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
_given = DATABASES["default"]["OPTIONS"]
_own = {"options": database.options(sys.argv, _given.get("options", ""))}
DATABASES["default"]["OPTIONS"] = _CONNECT | _given | _own | _kept.get("OPTIONS", {})

REDIS_URL = env.url("REDIS_URL", schemes=("redis", "rediss", "unix"))
RQ_QUEUES = {"default": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": -1}}
RQ = {"COMMIT_MODE": "auto"}  # bells are rung by our own on-commit hooks

# --- files ---------------------------------------------------------------------------------
DATA = env.path("DARKROOM_DATA", str(BASE_DIR / "var"))
MEDIA_ROOT = DATA / "results"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "results": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": str(MEDIA_ROOT),
            "file_permissions_mode": 0o640,
            "directory_permissions_mode": 0o750,
        },
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
_ASSETS = [BASE_DIR / "tasks_app/static", BASE_DIR / "tasks_app/locale"]
STATIC_URL = f"/static/{assets.version_of(*_ASSETS)}/"
# Served straight from the packages: no collectstatic step that could be forgotten.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 0 if DEBUG else 365 * 86_400  # the address names the version

# --- language and time ---------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
# Before the words of other apps: "Log out" is said once, and our way.
LOCALE_PATHS = [BASE_DIR / "tasks_app" / "locale"]
LANGUAGE_COOKIE_NAME = "darkroom_language"
LANGUAGE_COOKIE_AGE = 365 * 86_400
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = _HTTPS

UNFOLD = staff_pages.UNFOLD

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "tasks_app.api.authentication.KeyAuthentication",
        "tasks_app.api.authentication.ProblemSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["tasks_app.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["tasks_app.api.rendering.ORJSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "tasks_app.api.rendering.OneMediaType",
    "DEFAULT_METADATA_CLASS": "tasks_app.api.rendering.NoMetadata",
    "EXCEPTION_HANDLER": "tasks_app.api.problems.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

# Eyes read a terminal, machines read everything else.
LOG_FORMAT = env.text(
    "DARKROOM_LOG_FORMAT", "text" if sys.stderr.isatty() else "json", choices=("text", "json")
)
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "tasks_app.logs.Background", "style": LOG_FORMAT}},
    "root": {
        "handlers": ["stderr"],
        "level": env.text(
            "DARKROOM_LOG_LEVEL", "INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR")
        ),
    },
    "loggers": {
        "rq.worker": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
        # A redis client that reconnects says so itself, through our own log lines.
        "rq.job": {"level": "WARNING"},
    },
}

# --- the app's own numbers (seconds unless the name says otherwise) ------------------------
DARKROOM: dict[str, Any] = {
    "redis_prefix": env.text("DARKROOM_REDIS_PREFIX", "darkroom"),
    "limit_all": env.integer("DARKROOM_LIMIT_ALL", 20, minimum=1),
    "lease": env.duration("DARKROOM_LEASE", 60, minimum=0.5),
    "claim_lease": env.duration("DARKROOM_CLAIM_LEASE", 10, minimum=0.5),
    "grace": env.duration("DARKROOM_GRACE", 60, minimum=0.5),
    "slot_fence": env.duration("DARKROOM_SLOT_FENCE", 2, minimum=0.02),
    "control_interval": env.duration("DARKROOM_CONTROL_INTERVAL", 0.4, minimum=0.02, maximum=1),
    "tick_interval": env.duration("DARKROOM_TICK_INTERVAL", 0.5, minimum=0.02),
    "figures_interval": env.duration("DARKROOM_FIGURES_INTERVAL", 2, minimum=0.05),
    "sweep_interval": env.duration("DARKROOM_SWEEP_INTERVAL", 5, minimum=0.05),
    "max_wait": env.duration("DARKROOM_MAX_WAIT", 3600, minimum=1, maximum=86_400),
    "max_attempts": env.integer("DARKROOM_MAX_ATTEMPTS", 50, minimum=1),
    "result_days": env.number("DARKROOM_RESULT_DAYS", 7, minimum=0.001),
    "archive_days": env.number("DARKROOM_ARCHIVE_DAYS", 30, minimum=0.001),
    "purge_interval": env.duration("DARKROOM_PURGE_INTERVAL", 600, minimum=0.05),
    "idempotency_hours": env.number("DARKROOM_IDEMPOTENCY_HOURS", 24, minimum=0.001),
    "link_seconds": env.duration("DARKROOM_LINK_SECONDS", 300, minimum=5),
    "accel_prefix": env.text("DARKROOM_ACCEL_PREFIX", ""),
    "max_artifact_bytes": env.integer("DARKROOM_MAX_ARTIFACT_BYTES", 64 * 1024 * 1024, minimum=1),
    "worker_drain": env.duration("DARKROOM_WORKER_DRAIN_SECONDS", 25, minimum=0.1),
    "worker_max_tasks": env.integer("DARKROOM_WORKER_MAX_TASKS", 1_000, minimum=1),
    "worker_max_mb": env.integer("DARKROOM_WORKER_MAX_MB", 0, minimum=0),
    "callback_allow": env.networks("DARKROOM_CALLBACK_ALLOW"),
    "callback_slow_retries": env.boolean("DARKROOM_CALLBACK_SLOW_RETRIES", True),
    "callback_days": env.number("DARKROOM_CALLBACK_DAYS", 30, minimum=1),
    "upstream_secrets": tuple(
        env.words(
            "DARKROOM_UPSTREAM_SECRETS", ["UPSTREAM_*", "/etc/darkroom/upstream", "/run/secrets"]
        )
    ),
    "webhook_url": env.url("DARKROOM_WEBHOOK_URL", PUBLIC_URL),
    "fetch_allow": env.networks("DARKROOM_FETCH_ALLOW"),
    "remote_calls": env.integer("DARKROOM_REMOTE_CALLS", 256, minimum=1, maximum=10_000),
    "backlog_alert": env.integer("DARKROOM_BACKLOG_ALERT", 10_000, minimum=1),
    "poll_failing_seconds": env.duration("DARKROOM_POLL_FAILING_SECONDS", 60, minimum=0.1),
    "log_prompts": env.boolean("DARKROOM_LOG_PROMPTS", False),
    "metrics_allow": env.networks("DARKROOM_METRICS_ALLOW", ["127.0.0.0/8", "::1"]),
    "metrics_token": env.secret("DARKROOM_METRICS_TOKEN", ""),
}
