"""Webhooks: signed CloudEvents, each delivered or reported as an error."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from fll_hbase.runtime.config import without_credentials
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.runtime.json_types import Json
from fll_hbase.runtime.release import VERSION
from fll_hbase.runtime.retry import RetryPolicy
from fll_hbase.runtime.threads import call_bounded

ANSWER_SECONDS = 10.0
"""Maximum time from the begin of a request to its status, whatever the receiver sends before."""

RETRY = RetryPolicy(attempts_max=5, timeout_seconds=60.0, wait_first_seconds=0.5)
SECRET_BYTES_MIN = 16
_SECRET_PREFIX = "whsec_"  # noqa: S105  (the prefix of the standard, not a secret)
_AGAIN = frozenset({408, 425, 429})
_SHOWN_MAX = 200


class Webhook:
    """Sends events to one URL, signed as Standard Webhooks describes. Threads must not share it.

    `secret` is a text, or base64 after `whsec_`. An attempt takes at most `answer_seconds`. Raises
    ConfigurationError for a URL or secret that cannot be used.
    """

    def __init__(
        self, url: str, secret: str, *, retry: RetryPolicy = RETRY, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self._url, self._key, self._retry = _checked_url(url), _key(secret), retry
        self._answer_seconds = answer_seconds
        self._shown = without_credentials(url)[:_SHOWN_MAX]
        self._session = requests.Session()

    def send(self, event: Json) -> None:
        """Deliver one CloudEvent, which has an `id`; repeat it as `retry` says after a fault that may pass.

        Raises NotDelivered if it is not delivered, at once for a redirect and for most statuses below 500.
        """
        body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            self._retry.retrying(_NotNow)(self._send, event["id"], body)
        except _NotNow as error:
            raise NotDelivered(str(error)) from error

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _send(self, event_id: str, body: bytes) -> None:
        """Send an event once. Raises _NotNow if a repetition may help, else NotDelivered."""
        seconds = str(int(time.time()))
        headers = {
            "Content-Type": "application/cloudevents+json; charset=utf-8",
            "User-Agent": f"fll_hbase/{VERSION}",
            "Webhook-Id": event_id,
            "Webhook-Timestamp": seconds,
            "Webhook-Signature": signature(self._key, event_id, seconds, body),
        }
        try:
            # The timeout of a socket ends no answer that comes byte by byte.
            status = call_bounded(lambda: self._post(body, headers), self._answer_seconds)
        except TimeoutError as error:
            raise _NotNow(f"{self._shown} does not answer in {self._answer_seconds:g} s") from error
        except (requests.RequestException, HTTPError) as error:
            raise _NotNow(f"{self._shown} cannot be reached ({type(error).__name__})") from error
        if 200 <= status < 300:
            return
        text = f"{self._shown} answers {status}"
        raise _NotNow(text) if status >= 500 or status in _AGAIN else NotDelivered(text)

    def _post(self, body: bytes, headers: Mapping[str, str]) -> int:
        """Return the status of one request."""
        # Redirects are not followed: only the configured address receives names. The body of the answer is
        # not read.
        with self._session.post(
            self._url,
            data=body,
            headers=headers,
            timeout=self._answer_seconds,
            allow_redirects=False,
            stream=True,
        ) as response:
            return response.status_code


class NotDelivered(LineageError):
    """The receiver of a webhook did not accept an event."""


class _NotNow(Exception):
    """The receiver cannot accept an event now."""


def signature(key: bytes, event_id: str, seconds: str, body: bytes) -> str:
    """Return `v1,` and the base64 of the HMAC-SHA256 of `<id>.<timestamp>.<body>`."""
    signed = b".".join((event_id.encode(), seconds.encode(), body))
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def _key(secret: str) -> bytes:
    """Return the key of a secret. Raises ConfigurationError for one that is too short or not base64."""
    try:
        rest = secret.removeprefix(_SECRET_PREFIX)
        key = base64.b64decode(rest, validate=True) if rest != secret else secret.encode()
    except ValueError as error:
        raise ConfigurationError(f"the secret of the webhook is not base64 after {_SECRET_PREFIX}") from error
    if len(key) < SECRET_BYTES_MIN:
        raise ConfigurationError(f"the secret of the webhook needs at least {SECRET_BYTES_MIN} bytes")
    return key


def _checked_url(url: str) -> str:
    """Return a URL unchanged. Raises ConfigurationError unless it is http(s), without user and fragment."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or any(ord(character) <= 32 for character in url):
        raise ConfigurationError(f"{without_credentials(url)[:200]!r} is not an http:// or https:// URL")
    if parts.username is not None or parts.fragment:
        raise ConfigurationError("the URL of a webhook has no user, password or fragment: events are signed")
    return url
