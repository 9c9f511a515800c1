"""The names of places that contain credentials: headers, members, parameters, variables.

A name in lower case stands for every letter case.
"""

from __future__ import annotations

import re
from typing import Final

KEPT_HEADERS: Final = frozenset(
    [
        "accept",
        "accept-encoding",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "location",
        "retry-after",
        "retry-after-ms",
        "server",
        "server-timing",
        "transfer-encoding",
        "user-agent",
        "vary",
        "x-exit-code",
        "x-goog-api-client",
        "x-goog-upload-chunk-granularity",
        "x-goog-upload-command",
        "x-goog-upload-control-url",
        "x-goog-upload-file-name",
        "x-goog-upload-header-content-length",
        "x-goog-upload-header-content-type",
        "x-goog-upload-offset",
        "x-goog-upload-protocol",
        "x-goog-upload-size-received",
        "x-goog-upload-status",
        "x-goog-upload-url",
        "x-program",
        "x-provider",
        "x-server-timeout",
        "x-stderr",
    ]
)
URL_HEADERS: Final = frozenset({"location", "x-goog-upload-control-url", "x-goog-upload-url"})
"""The kept headers with a URL that the client requests next."""
SECRET_HEADERS: Final = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-goog-api-key",
        "x-goog-iam-authorization-token",
        "x-api-key",
        "api-key",
    }
)
"""The headers whose values are a finding in a file; a recording has none of them."""
SECRET_KEYS: Final = (
    "access_token", "accessToken", "refresh_token", "refreshToken", "id_token", "idToken",
    "session_token", "sessionToken", "client_secret", "clientSecret", "private_key", "privateKey",
    "api_key", "apiKey", "api-key", "x-api-key", "x-goog-api-key", "authorization",
    "authorization_token", "cookie", "password", "secret", "webhook_config", "webhookConfig",
)  # fmt: skip
"""The names of JSON members and form fields with credentials, in any letter case."""
SECRET_PARAMETERS: Final = frozenset({
    *map(str.lower, SECRET_KEYS), "key", "token", "assertion", "auth", "code", "sig", "signature",
    "upload_id", "x-goog-signature", "x-goog-credential",
    "x-amz-signature", "x-amz-credential", "x-amz-security-token",
})  # fmt: skip
"""The names of query parameters and form fields with credentials, in lower case."""
SECRET_BESIDE: Final = {
    "mcp_server": ("headers",),
    "allowlist": ("transform",),
    'environment"': ("env",),
}
"""A word in a body → the names of members with credentials in such a body: the headers for a server
of remote tools, those that an environment adds to requests, and its variables
(https://ai.google.dev/api/interactions-api).
"""
CREDENTIAL_MEMBERS: Final = frozenset(
    {"private_key", "refresh_token", "client_secret", "access_token", "id_token"}
)
"""The secret members in a file of Google's credentials,
https://cloud.google.com/docs/authentication/application-default-credentials.
"""
SECRET_VARIABLE: Final = re.compile(
    "KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL"
    "|(?:PASSWD|(?<!ASK|COM)(?<!BY)PASS|(?<!COM)PAT|AUTH|COOKIES?|PASSPHRASE|DSN|CREDS)$"
    "|(?<!^)(?<!OLD)PWD$",
    re.IGNORECASE,
)
"""An environment variable with such a name contains a secret. PWD is the working folder, and
SSH_ASKPASS is the path of a program.
"""
