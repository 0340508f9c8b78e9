"""Configure Django from the environment; only Django imports this module.

Two kinds of installation. *Personal*: no `DATABASE_URL`; SQLite, an in-memory broker and generated keys in
`APPLYVIZ_HOME`. *Team*: `DATABASE_URL` is set; every key must be given, and a default key is refused.
`docs/configuration.md` lists the variables; each may be given as `NAME_FILE`.
"""

from __future__ import annotations

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from applyviz import environment as env
from applyviz import sealing_keys

BASE_DIR = Path(__file__).resolve().parent.parent
APPLYVIZ_HOME = Path(env.text("APPLYVIZ_HOME") or BASE_DIR / "var")
_database_url = env.text("DATABASE_URL")
APPLYVIZ_IS_PERSONAL = not _database_url

# Keys ------------------------------------------------------------------------------------------
DEBUG = env.flag("DEBUG", default=False)
SECRET_KEY = env.text("SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
# Web processes of a team have only the sealing key, which opens nothing. Workers have the keys that open.
APPLYVIZ_SEALING_KEY = env.text("APPLYVIZ_SEALING_KEY")
APPLYVIZ_OPENING_KEYS = env.words("APPLYVIZ_OPENING_KEYS")
# Web and workers: counters, digests of sources, approvals. Only workers: plan digests, plan MACs, checkpoints.
APPLYVIZ_WEB_KEY = env.text("APPLYVIZ_WEB_KEY")
APPLYVIZ_APPROVAL_KEY = env.text("APPLYVIZ_APPROVAL_KEY")
APPLYVIZ_APPROVAL_KEY_FALLBACKS = env.words("APPLYVIZ_APPROVAL_KEY_FALLBACKS")
APPLYVIZ_DIGEST_KEY = env.text("APPLYVIZ_DIGEST_KEY")
# The key with which web processes show and check signatures, because they cannot derive it.
APPLYVIZ_CHECKPOINT_PUBLIC_KEY = env.text("APPLYVIZ_CHECKPOINT_PUBLIC_KEY")
if APPLYVIZ_IS_PERSONAL:
    SECRET_KEY = SECRET_KEY or env.kept_secret(APPLYVIZ_HOME / "keys" / "session")
    APPLYVIZ_WEB_KEY = APPLYVIZ_WEB_KEY or env.kept_secret(APPLYVIZ_HOME / "keys" / "web")
    APPLYVIZ_APPROVAL_KEY = APPLYVIZ_APPROVAL_KEY or env.kept_secret(APPLYVIZ_HOME / "keys" / "approval")
    APPLYVIZ_DIGEST_KEY = APPLYVIZ_DIGEST_KEY or env.kept_secret(APPLYVIZ_HOME / "keys" / "digest")
    APPLYVIZ_OPENING_KEYS = APPLYVIZ_OPENING_KEYS or [
        env.kept_secret(APPLYVIZ_HOME / "keys" / "opening", sealing_keys.make_opening_key())
    ]
elif DEBUG:
    raise ImproperlyConfigured(
        "DEBUG: a team installation (DATABASE_URL is set) never runs with DEBUG on; set it to off"
    )
env.require_key("SECRET_KEY", SECRET_KEY)
# A process has only the keys of its role; `applyviz.process_keys` checks them when that role starts.
_keys = {
    "SECRET_KEY": SECRET_KEY,
    "APPLYVIZ_WEB_KEY": APPLYVIZ_WEB_KEY,
    "APPLYVIZ_APPROVAL_KEY": APPLYVIZ_APPROVAL_KEY,
    "APPLYVIZ_DIGEST_KEY": APPLYVIZ_DIGEST_KEY,
}
env.require_strong_keys(_keys)
env.require_earlier_keys("SECRET_KEY_FALLBACKS", SECRET_KEY_FALLBACKS, _keys)
env.require_earlier_keys("APPLYVIZ_APPROVAL_KEY_FALLBACKS", APPLYVIZ_APPROVAL_KEY_FALLBACKS, _keys)

# Hosts and HTTPS -------------------------------------------------------------------------------
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost 127.0.0.1 [::1]" if APPLYVIZ_IS_PERSONAL else "")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
_has_https = env.flag("APPLYVIZ_HTTPS", default=not APPLYVIZ_IS_PERSONAL)
# Forwarded client data counts only if it comes from one of these proxies (`applyviz.web.frame.middleware`).
APPLYVIZ_TRUSTED_PROXIES = env.networks("APPLYVIZ_TRUSTED_PROXIES")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if APPLYVIZ_TRUSTED_PROXIES else None
SECURE_SSL_REDIRECT = _has_https
SECURE_HSTS_SECONDS = 31_536_000 if _has_https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _has_https
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _has_https
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Strict"
SESSION_ENGINE = "applyviz.web.frame.session_store"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "applyviz_session", "applyviz_csrf"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
# Django 6 has this setting under the same name and in the same form (`applyviz.web.frame.middleware` reads it).
SECURE_CSP = {
    "default-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "object-src": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
}

# Application -----------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "applyviz.records",
    "applyviz.web",
]
MIDDLEWARE = [
    "applyviz.web.frame.middleware.HealthMiddleware",
    "applyviz.web.frame.middleware.ConcurrencyMiddleware",
    "applyviz.web.frame.middleware.ProxyMiddleware",
    "applyviz.web.frame.middleware.RequestIdMiddleware",
    "applyviz.web.frame.middleware.OriginMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "applyviz.web.frame.middleware.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "applyviz.web.frame.middleware.NoStoreMiddleware",
    "applyviz.web.frame.middleware.NulMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "applyviz.urls"
ASGI_APPLICATION = "applyviz.asgi.application"
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
            ],
        },
    }
]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "/login/", "/", "/login/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTHENTICATION_BACKENDS = [
    "applyviz.web.frame.account_backend.AccountBackend",
    "applyviz.web.frame.demo_sessions.DemoBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 2_000
FILE_UPLOAD_HANDLERS = [
    "applyviz.web.frame.uploads.InMemoryHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# Database --------------------------------------------------------------------------------------
# The connections that a web process shares among its requests and streams; 0 keeps one per thread, as workers do.
APPLYVIZ_DATABASE_POOL = env.number("APPLYVIZ_DATABASE_POOL", 0)
# The requests that a process answers at once; others queue. Streams use the remaining connections.
APPLYVIZ_CONCURRENT_REQUESTS = max(1, APPLYVIZ_DATABASE_POOL - 4) if APPLYVIZ_DATABASE_POOL else 12
_database = env.database("DATABASE_URL", _database_url or f"sqlite:///{APPLYVIZ_HOME / 'applyviz.sqlite3'}")
if _database["ENGINE"] == "django.db.backends.sqlite3":
    # Web and worker threads write at once: take the write lock at BEGIN, and wait for it.
    _database["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL;"}
    _database["CONN_MAX_AGE"] = 0
    if APPLYVIZ_IS_PERSONAL:
        env.keep_private(APPLYVIZ_HOME, Path(_database["NAME"]))
elif _database["ENGINE"] == "django.db.backends.postgresql":
    # A process that freezes in a transaction holds locks that block all others: the server ends it. Queries read few
    # rows of many tables, some of them empty: PostgreSQL would expect millions, and compile the query of a page for
    # longer than a second, each time.
    _patience = max(1, env.number("APPLYVIZ_LEASE_SECONDS", 60) // 3)
    _given = _database.setdefault("OPTIONS", {}).get("options", "")
    _limits = f"-c jit=off -c idle_in_transaction_session_timeout={_patience}s"
    _database["OPTIONS"]["options"] = f"{_given} {_limits}".strip()
    if APPLYVIZ_DATABASE_POOL:
        # A request takes a connection from the pool and returns it; a pool keeps none open beyond its size.
        _database["CONN_MAX_AGE"] = 0
        _database["OPTIONS"]["pool"] = {"min_size": 1, "max_size": APPLYVIZ_DATABASE_POOL, "timeout": 5}
DATABASES = {"default": _database}

# Celery: messages contain only an id, results are rows of our own -------------------------------
CELERY_BROKER_URL = env.check_broker(env.text("CELERY_BROKER_URL") or env.text("REDIS_URL") or "memory://localhost/")
if CELERY_BROKER_URL.startswith("memory:"):
    # The in-process broker is polled: the default of once a second would delay every click.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.05}
# Runs, plans, short work and scans of whole clusters have queues of their own: none waits for another kind.
CELERY_TASK_DEFAULT_QUEUE = "short"
CELERY_TASK_ROUTES = {
    "applyviz.execute_run": {"queue": "runs"},
    "applyviz.watch_rollouts": {"queue": "runs"},
    "applyviz.make_plan": {"queue": "plans"},
    "applyviz.scan_cluster": {"queue": "plans"},
    "applyviz.scan_whole_cluster": {"queue": "scans"},
    "applyviz.verify_plan": {"queue": "plans"},
    "applyviz.compare_plan": {"queue": "plans"},
    "applyviz.follow_branch": {"queue": "plans"},
}
CELERY_TASK_QUEUES = {name: {"exchange": name, "routing_key": name} for name in ("runs", "plans", "scans", "short")}
# The file that a worker touches while it can take tasks, for health checks.
APPLYVIZ_PULSE_FILE = env.new_file("APPLYVIZ_PULSE_FILE")
APPLYVIZ_RECOVERY_SECONDS = env.number("APPLYVIZ_RECOVERY_SECONDS", 5)
APPLYVIZ_LEASE_SECONDS = env.number("APPLYVIZ_LEASE_SECONDS", 60)
# How many plans, and how many runs, of one cluster workers execute at once: a slow cluster leaves workers to others.
APPLYVIZ_CLUSTER_CONCURRENCY = max(1, env.number("APPLYVIZ_CLUSTER_CONCURRENCY", 3))
# How many objects of one step a run applies concurrently, unless a policy says otherwise.
APPLYVIZ_RUN_PARALLEL = env.number("APPLYVIZ_RUN_PARALLEL", 16)

# Scans: how often the live objects of each cluster are compared with what runs wrote; 0 disables them.
APPLYVIZ_SCAN_MINUTES = env.number("APPLYVIZ_SCAN_MINUTES", 15)

# The history: the file for signed checkpoints, and how often they are added (also at webhooks); 0 disables them.
APPLYVIZ_CHECKPOINT_FILE = env.text("APPLYVIZ_CHECKPOINT_FILE")
APPLYVIZ_CHECKPOINT_MINUTES = env.number("APPLYVIZ_CHECKPOINT_MINUTES", 60)

# What is masked besides Secrets: the built-in list of credentials, names and dotted paths with globs.
APPLYVIZ_MASK_CREDENTIALS = env.flag("APPLYVIZ_MASK_CREDENTIALS", default=True)
APPLYVIZ_MASK_NAMES = tuple(env.words("APPLYVIZ_MASK_NAMES"))
APPLYVIZ_MASK_PATHS = tuple(env.words("APPLYVIZ_MASK_PATHS"))

# Guide and playground ----------------------------------------------------------------------------
APPLYVIZ_PUBLIC_PLAYGROUND = env.flag("APPLYVIZ_PUBLIC_PLAYGROUND", default=APPLYVIZ_IS_PERSONAL)
APPLYVIZ_PLAYGROUND_DAYS = env.number("APPLYVIZ_PLAYGROUND_DAYS", 14)
# Questions of one address in a minute, and a sixth of those of one account; 0 sets no limit.
APPLYVIZ_PLAYGROUND_QUESTIONS = env.number("APPLYVIZ_PLAYGROUND_QUESTIONS", 10)

# Links -------------------------------------------------------------------------------------------
# Internal origins that may be fetched nevertheless: https://git.example:8443 …
APPLYVIZ_LINK_HOSTS = tuple(env.words("APPLYVIZ_LINK_HOSTS"))
APPLYVIZ_LINK_CA_FILE = env.text("APPLYVIZ_LINK_CA_FILE")

# Rendering ---------------------------------------------------------------------------------------
# The socket of the renderer service; without it, charts and kustomizations are rendered in namespaces of this machine.
APPLYVIZ_RENDERER_SOCKET = env.text("APPLYVIZ_RENDERER_SOCKET")

# Notifications ---------------------------------------------------------------------------------
# The address of this installation for people, used in links of emails and webhooks.
APPLYVIZ_URL = env.text("APPLYVIZ_URL")
EMAIL_HOST = env.text("EMAIL_HOST")
EMAIL_PORT = env.number("EMAIL_PORT", 587 if EMAIL_HOST else 25)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_USER"), env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_SSL = env.flag("EMAIL_USE_SSL", default=False)
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=bool(EMAIL_HOST) and EMAIL_PORT == 587 and not EMAIL_USE_SSL)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM") or "applyviz@localhost"
APPLYVIZ_MAIL = bool(EMAIL_HOST)

# Static files, language, time --------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT") or BASE_DIR / "staticfiles")
STATICFILES_DIRS = [BASE_DIR / "static"]
_has_collected = (STATIC_ROOT / "staticfiles.json").exists()
WHITENOISE_USE_FINDERS = not _has_collected
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if _has_collected
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
USE_I18N = USE_TZ = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = env.time_zone("TZ")

# Logging: to standard error, one line each, with the request it belongs to --------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "applyviz.request_ids.RequestIdFilter"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"}},
    "handlers": {
        "stderr": {"class": "applyviz.logsink.BackgroundHandler", "formatter": "line", "filters": ["request_id"]}
    },
    "root": {"handlers": ["stderr"], "level": env.log_level("LOG_LEVEL", "WARNING")},
    "loggers": {
        "applyviz": {"level": env.log_level("LOG_LEVEL", "INFO")},
        # A page that is missing or refused is no fault of the installation, and would push the address off the screen.
        "django.request": {"level": env.log_level("LOG_LEVEL", "ERROR")},
        # The HTTP server would write its lines synchronously, and wait for their reader.
        "uvicorn": {"level": "INFO", "handlers": [], "propagate": True},
        "uvicorn.access": {"level": "INFO", "handlers": [], "propagate": True},
        "uvicorn.error": {"level": "INFO", "handlers": [], "propagate": True},
    },
}
