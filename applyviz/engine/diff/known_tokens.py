"""Tokens of well-known services, which their form alone gives away, wherever they are written.

The list is for people to read and extend: one line for each service. Each expression has a fixed beginning, so that the
search costs time linear in the text. Before it come its needs: lowercase texts, of which every such token contains one.
"""

from __future__ import annotations

from applyviz.engine.diff.sought_forms import seek

_UUID = r"[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"
_FORMS = (
    # Forges and registries
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),  # GitHub
    ("_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    (
        "gl",  # GitLab
        r"gl(?:pat|rt|dt|ptt|cbt|soat|ft|agent|imt|ffct)-[A-Za-z0-9_.-]{20,255}",
    ),
    ("gr1348941", r"GR1348941[A-Za-z0-9_-]{20,255}"),
    ("atatt3 atctt3", r"AT[AC]TT3[A-Za-z0-9_=-]{50,512}"),  # Atlassian
    ("npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{32,512}"),
    ("rubygems_", r"rubygems_[a-f0-9]{48}"),
    ("clojars_", r"CLOJARS_[A-Za-z0-9]{60}"),
    ("oy2", r"oy2[a-z0-9]{43}"),  # NuGet
    ("dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,255}"),  # Docker Hub
    ("akcp", r"AKCp[A-Za-z0-9]{60,255}"),  # Artifactory
    ("cmvmdgtu", r"cmVmdGtu[A-Za-z0-9+/=]{40,255}"),
    # Clouds
    ("akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),  # AWS
    ("absk", r"ABSK[A-Za-z0-9+/=]{100,512}"),
    ("aiza", r"AIza[A-Za-z0-9_-]{35}"),  # Google
    ("ya29", r"ya29\.[A-Za-z0-9_-]{20,2048}"),
    ("gocspx-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("1//0", r"1//0[A-Za-z0-9_-]{40,512}"),
    ("q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),  # Microsoft Entra
    ("_v1_", r"do[opr]_v1_[a-f0-9]{64}"),  # DigitalOcean
    ("ltai", r"LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])"),  # Alibaba
    ("akid", r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),  # Tencent
    ("v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{64,255}"),  # Cloudflare
    ("fo1_ fm1 fm2_", r"(?:fo1|fm1|fm1a|fm1r|fm2)_[A-Za-z0-9+/=_-]{40,2048}"),  # Fly.io
    ("hrku-", r"HRKU-[A-Za-z0-9_-]{36,255}"),  # Heroku
    ("nfp_", r"nfp_[A-Za-z0-9]{36,255}"),  # Netlify
    ("rnd_", r"rnd_[A-Za-z0-9]{28,255}"),  # Render
    ("vck_ vcp_", r"vc[kp]_[A-Za-z0-9]{24,255}"),  # Vercel
    # Clusters and secret stores
    ("sha256~", r"sha256~[A-Za-z0-9_-]{43}"),  # OpenShift
    ("k10", r"K10[a-f0-9]{64}::[^\s\"']{8,512}"),  # k3s
    ("hv", r"hv[sbr]\.[A-Za-z0-9_-]{20,512}"),  # Vault
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,255}"),  # Terraform
    ("pul-", r"pul-[a-f0-9]{40}"),  # Pulumi
    ("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,64}\.)?[A-Za-z0-9]{40,44}"),  # Doppler
    ("ops_eyj", r"ops_eyJ[A-Za-z0-9+/=_-]{200,4096}"),  # 1Password
    ("a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("tskey-", r"tskey-[a-z]{2,20}-[A-Za-z0-9]{8,64}(?:-[A-Za-z0-9]{16,128})?"),  # Tailscale
    ("age-secret", r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}"),
    # Messages
    ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),  # Slack
    ("xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{32,255}"),
    ("hooks.", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]{10,255}"),
    ("hooks.", r"hooks\.zapier\.com/hooks/catch/[A-Za-z0-9/]{10,255}"),
    ("webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{5,30}/[A-Za-z0-9_-]{20,255}"),
    ("webhook", r"[a-z0-9-]{1,63}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{20,512}"),
    (":aa", r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),  # Telegram
    ("sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),  # SendGrid
    ("key-", r"key-[a-f0-9]{32}(?![a-f0-9])"),  # Mailgun
    ("sib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),  # Brevo
    # Payments and shops
    ("_live_ _test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}"),  # Stripe
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{24,255}"),
    ("_live_ _test_", r"rzp_(?:live|test)_[A-Za-z0-9]{14}"),  # Razorpay
    ("shp", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),  # Shopify
    ("sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,43}"),  # Square
    ("_live_ _test_", r"duffel_(?:live|test)_[A-Za-z0-9_=-]{43}"),
    ("_live_ _test_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    ("access-", r"access-(?:sandbox|development|production)-" + _UUID),  # Plaid
    ("ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}"),  # EasyPost
    # Observability
    ("sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{32,512}"),  # Sentry
    ("glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),  # Grafana
    ("glc_", r"glc_[A-Za-z0-9+/=]{32,512}"),
    ("nrak- nrii- nrjs- nrra- nrbr-", r"NR(?:AK|II|JS|RA|BR)-[A-Za-z0-9_-]{19,64}"),  # New Relic
    ("dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),  # Dynatrace
    ("sdk-", r"sdk-" + _UUID),  # LaunchDarkly
    ("ik_ hcalk_", r"hc(?:aik|xik|alk)_[a-z0-9]{40,80}"),  # Honeycomb
    ("phx_", r"phx_[A-Za-z0-9]{40,64}"),  # PostHog
    ("essu_", r"essu_[A-Za-z0-9+/=_-]{40,255}"),  # Elastic
    # Data
    ("dapi", r"dapi[a-f0-9]{32}(?:-[0-9]{1,3})?"),  # Databricks
    ("pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}"),  # PlanetScale
    ("sbp_ sb_secret_", r"sb(?:p|_secret)_[A-Za-z0-9_]{30,64}"),  # Supabase
    ("pat-", r"pat-[a-z]{2}[0-9]-" + _UUID),  # HubSpot
    ("pnu_", r"pnu_[A-Za-z0-9]{36}"),  # Prefect
    # Models
    ("sk-", r"sk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,255}"),
    ("hf_", r"hf_[A-Za-z0-9]{30,64}"),
    ("r8_", r"r8_[A-Za-z0-9]{37}"),
    ("gsk_", r"gsk_[A-Za-z0-9]{48,64}"),
    ("nvapi-", r"nvapi-[A-Za-z0-9_-]{60,80}"),
    ("xai-", r"xai-[A-Za-z0-9]{70,90}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{40,64}"),
    # Documents, builds and quality
    ("secret_ ntn_", r"(?:secret|ntn)_[A-Za-z0-9]{43,50}"),  # Notion
    ("lin_api_", r"lin_api_[A-Za-z0-9]{40}"),  # Linear
    ("figd_ figo_ figu_", r"fig[dou]_[A-Za-z0-9_-]{40,64}"),  # Figma
    ("pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),  # Postman
    ("cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),  # Contentful
    ("tfp_", r"tfp_[A-Za-z0-9_.=-]{50,64}"),  # Typeform
    ("sl.", r"sl\.[A-Za-z0-9_-]{100,2048}"),  # Dropbox
    ("bkua_", r"bkua_[a-f0-9]{40}"),  # Buildkite
    ("ccipat_", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),  # CircleCI
    ("sgp_", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),  # Sourcegraph
    ("sqp_ sqa_ squ_", r"sq[pau]_[a-f0-9]{40}"),  # SonarQube
    # Hashes of passwords, which are guessed without the server
    ("$2", r"\$2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{53}"),
    ("$1$ $5$ $6$ $y$ $7$", r"\$[1567y]\$[^\s$:\"']{1,64}\$(?:[^\s$:\"']{1,64}\$)?[A-Za-z0-9./]{22,128}"),
    ("$apr1$", r"\$apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}"),
    ("$argon2", r"\$argon2(?:id|i|d)\$[^\s\"':]{20,512}"),
    ("pbkdf2", r"\$?pbkdf2[_:-]?sha(?:1|256|512)?\$[^\s\"':]{20,512}"),
    ("$scrypt$", r"\$scrypt\$[^\s\"':]{20,512}"),
    ("scram-sha-", r"SCRAM-SHA-(?:1|256|512)\$[^\s\"']{20,512}"),
    ("md5", r"md5[a-f0-9]{32}(?![A-Za-z0-9])"),  # PostgreSQL
    ("{sha {ssha", r"\{S?SHA(?:256|384|512)?\}[A-Za-z0-9+/]{26,255}={0,2}"),
)
TOKENS = tuple(seek(needs, r"(?<![A-Za-z0-9_-])(?:" + form + ")") for needs, form in _FORMS)
