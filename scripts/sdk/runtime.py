import asyncio
import base64
import binascii
import hashlib
import hmac
import http.client
import inspect
import json
import logging
import os
import random
import secrets as _secrets
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, AsyncIterator, Awaitable, BinaryIO, Callable, Dict, Iterator, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, TypedDict, Union, cast, overload


class ChartwireError(Exception):
    """The base of every error that this module raises."""

    def __init__(
        self,
        message: str,
        *,
        code: Optional[str] = None,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        field: Optional[str] = None,
        errors: Sequence[Mapping[str, Any]] = (),
        remedy: Optional[str] = None,
        doc_url: Optional[str] = None,
        retry_after_seconds: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.field = field
        self.errors = errors
        self.remedy = remedy
        self.doc_url = doc_url
        self.retry_after_seconds = retry_after_seconds

    def __repr__(self) -> str:
        facts = {name: getattr(self, name) for name in ("code", "status", "field", "request_id")}
        shown = "".join(f", {name}={value!r}" for name, value in facts.items() if value is not None)
        return f"{type(self).__name__}({str(self)!r}{shown})"


class ValidationError(ChartwireError):
    """The request is not valid; `field` names the field, and `errors` all invalid ones."""


class AuthenticationError(ChartwireError):
    """The client credentials or the access token are missing or wrong."""


class NotFoundError(ChartwireError):
    """A record that the request refers to does not exist."""


class ConflictError(ChartwireError):
    """The request conflicts with the current state."""


class CursorExpiredError(ChartwireError):
    """The cursor of the change feed is no longer valid: delete your copy, and start again without a cursor."""


class LoginRequiredError(ChartwireError):
    """The account link has expired: run Link in update mode. Waiting jobs then resume."""


class RateLimitError(ChartwireError):
    """Too many requests, also after retries."""


class ServiceUnavailableError(ChartwireError):
    """The service, its database or the EMR is not available, also after retries."""


class ConnectionFailedError(ChartwireError):
    """The service could not be reached, also after retries."""


class TimedOutError(ChartwireError):
    """The request or the wait took longer than its timeout. `job_id` is the job that was waited for: it continues."""

    job_id: Optional[int] = None


class JobFailedError(ChartwireError):
    """A write was accepted but failed later. `code` is the failure code.

    `outcome` is `failed`, `cancelled` or `needs_review`: it is then unknown whether it was saved. Check in the EMR
    before you send it again.
    """

    def __init__(
        self, message: str, *, outcome: str, event: Dict[str, Any], code: Optional[str] = None, job_id: Optional[int] = None
    ) -> None:
        super().__init__(message, code=code)
        self.job_id = job_id
        self.outcome = outcome
        self.event = event
        # Some events have only the text.
        only = [] if code is None else [{"code": code, "description": message}]
        self.reasons: List[Dict[str, Any]] = event["data"].get("reasons") or only


class WebhookVerificationError(Exception):
    """The request is not a genuine, recent event of the service: respond with status 400 and ignore it."""


def verify_webhook(
    body: Union[bytes, str],
    headers: Mapping[str, str],
    secret: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = 300,
) -> "WebhookEvent":
    """Checks the signature of a webhook request (Standard Webhooks) and returns the event.

    `body` is the raw body, before anything parses it. Pass two secrets while a rotation is in progress.
    """
    given = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not given.get(name):
            raise WebhookVerificationError(f"The header {name} is missing.")
    sent_at = given["webhook-timestamp"]
    if not (sent_at.isascii() and sent_at.isdigit()) or abs(time.time() - int(sent_at)) > tolerance_seconds:
        raise WebhookVerificationError(
            "The request is too old, or the clocks differ. Check the clock of this machine."
        )
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{given['webhook-id']}.{sent_at}.".encode() + raw
    received = [each[3:] for each in given["webhook-signature"].split(" ") if each.startswith("v1,")]
    genuine = False
    for each in [secret] if isinstance(secret, str) else secret:
        expected = base64.b64encode(hmac.new(_webhook_key(each), signed, hashlib.sha256).digest())
        for signature in received:
            genuine = hmac.compare_digest(expected, signature.encode()) or genuine
    if not genuine:
        raise WebhookVerificationError(
            "The signature does not match. Check the secret, and that body is the raw body."
        )
    return cast("WebhookEvent", json.loads(raw))


def sign_webhook(
    body: Union[bytes, str], secret: str, *, webhook_id: Optional[str] = None, timestamp: Optional[float] = None
) -> Dict[str, str]:
    """Signs a body as the service does, to test your receiver without it: send the body with the returned headers.

    `secret` is the one that the receiver verifies with. `timestamp` is in seconds since 1970; by default it is now.
    """
    sent_id = webhook_id or _secrets.token_hex(16)
    sent_at = str(int(time.time() if timestamp is None else timestamp))
    raw = body.encode() if isinstance(body, str) else bytes(body)
    digest = hmac.new(_webhook_key(secret), f"{sent_id}.{sent_at}.".encode() + raw, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": sent_id, "webhook-timestamp": sent_at, "webhook-signature": signature}


def _webhook_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret, validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("The webhook secret is not valid. It starts with whsec_.")
    return key


class File:
    """A file to upload. A file that is open in binary mode can be passed instead."""

    def __init__(self, content: bytes, name: str = "document") -> None:
        self.content = content
        self.name = name

    def __repr__(self) -> str:
        return f"File({len(self.content)} bytes)"


class SentRequest(NamedTuple):
    """A request as hooks see it: without query and body, and with the names of path parameters, which can be MRNs."""

    method: str
    route: str
    attempt: int


class ReceivedResponse(NamedTuple):
    """A response as hooks see it. `request_id` helps when you ask for help."""

    method: str
    route: str
    attempt: int
    status: int
    headers: Mapping[str, str]
    request_id: Optional[str]
    duration_seconds: float

    def __repr__(self) -> str:
        facts = {name: value for name, value in self._asdict().items() if name != "headers"}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in facts.items())})"


class _Call(NamedTuple):
    method: str
    url: str
    route: str
    headers: Mapping[str, str]
    content: Optional[bytes]
    deadline: float


# Routes, status codes, times and request IDs; no bodies, queries, MRNs or credentials.
_LOG = logging.getLogger("chartwire")


_REMEDIES = {
    "client_credentials_invalid": "Check client_id and client_secret.",
    "access_token_missing": "Pass access_token to Chartwire(…), or use client.for_account(access_token).",
    "access_token_invalid": "Check access_token: it may belong to another client, or the account was unlinked.",
    "route_not_found": "The service may be older than this module. Check base_url and the version of the service.",
}


class _Transport:
    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        access_token: Optional[str],
        timeout_seconds: float,
        retries_max: int,
        on_request: Optional[Callable[[SentRequest], Any]],
        on_response: Optional[Callable[[ReceivedResponse], Any]],
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.timeout_seconds = timeout_seconds
        self.retries_max = retries_max
        self.on_request = on_request
        self.on_response = on_response
        self.last_response: Optional[ReceivedResponse] = None
        # Names with hyphens: some proxies drop those with underscores.
        self._headers = {"client-id": client_id, "client-secret": client_secret}
        if access_token is not None:
            self._headers["access-token"] = access_token

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Sends a request, with retries. Options are those of `prepare`."""
        call = self.prepare(method, path, **options)
        attempt = 0
        while True:
            attempt += 1
            try:
                return self.attempt(call, attempt)
            except ChartwireError as error:
                pause = self.pause_before_retry(call, error, attempt)
            time.sleep(pause)

    def prepare(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        form: bool = False,
        timeout: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        reads: bool = False,
        dry_run: bool = False,
        route: Optional[str] = None,
    ) -> _Call:
        """What all attempts of a request have in common. `timeout` is for all of them together, in seconds."""
        deadline = time.monotonic() + (self.timeout_seconds if timeout is None else timeout)
        headers = dict(self._headers)
        content: Optional[bytes] = None
        if body is not None:
            content, headers["content-type"] = _form(body) if form else (json.dumps(body).encode(), "application/json")
        if dry_run:
            query = {**(query or {}), "dry_run": True}
        # A dry run stores nothing, so that it can be repeated without a key.
        if method in ("POST", "PATCH") and not reads and not dry_run:
            # Made once per request, so that its retries have no further effect.
            headers["idempotency-key"] = idempotency_key or _secrets.token_hex(16)
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        url = self.base_url + path + ("?" + urllib.parse.urlencode(given) if given else "")
        return _Call(method, url, route or path, headers, content, deadline)

    def pause_before_retry(self, call: _Call, error: ChartwireError, attempt: int) -> float:
        """How long to wait before the next attempt. Raises the error if there is none."""
        pause = min(0.5 * 2 ** (attempt - 1), 8) * (0.75 + random.random() / 2)
        pause = max(error.retry_after_seconds or 0, pause)
        if attempt > self.retries_max or not _is_repeatable(call.method, error):
            raise error
        if time.monotonic() + pause >= call.deadline:
            raise error
        status = "no response" if error.status is None else error.status
        _LOG.warning("%s %s: %s. Sent again in %.1f s.", call.method, call.route, status, pause)
        return pause

    def attempt(self, call: _Call, attempt: int) -> Any:
        method, url, route, headers, content, deadline = call
        place = f"{method} {route}"
        self._notify(self.on_request, SentRequest(method, route, attempt))
        started = time.monotonic()
        left = deadline - started
        request = urllib.request.Request(url, data=content, headers=dict(headers), method=method)
        try:
            with _OPENER.open(request, timeout=max(left, 0.001)) as response:
                text = response.read()
                self._receive(call, attempt, response.status, response.headers, started)
        except urllib.error.HTTPError as error:
            text = error.read()
            self._receive(call, attempt, error.code, error.headers, started)
            raise _error_for(error.code, error.headers, text, place) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, (socket.timeout, TimeoutError)):
                raise TimedOutError(f"{place} took too long. Raise the timeout, or try again.") from error
            raise ConnectionFailedError(
                f"Chartwire cannot be reached at {self.base_url}. Check base_url and the network."
            ) from error
        except ValueError as error:
            raise ConnectionFailedError(f"base_url is not a valid URL: {self.base_url}") from error
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        # Another program, or the page of a proxy, can respond with status 200 too.
        if isinstance(value, dict) and "success" in value:
            return value
        raise ChartwireError(
            f"{place} did not return a response from Chartwire. Check base_url, and any proxy in between: {self.base_url}"
        )

    def _receive(self, call: _Call, attempt: int, status: int, headers: Mapping[str, str], started: float) -> None:
        duration = time.monotonic() - started
        received = ReceivedResponse(
            call.method, call.route, attempt, status, headers, headers.get("x-request-id"), duration
        )
        self.last_response = received
        _LOG.debug(
            "%s %s: %s in %.0f ms, request %s", call.method, call.route, status, duration * 1000, received.request_id
        )
        self._notify(self.on_response, received)

    def _notify(self, hook: Optional[Callable[[Any], Any]], value: Any) -> None:
        """What a hook raises is logged and ignored: the request itself has succeeded, or is sent again."""
        try:
            if hook is not None:
                hook(value)
        except Exception as error:
            # Its message may contain anything.
            _LOG.warning("A hook has raised %s.", type(error).__name__)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the credentials to another place."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _is_repeatable(method: str, error: ChartwireError) -> bool:
    """A deletion has no idempotency key: it is repeated only if the service says that it did not take place."""
    if error.status in (429, 503) or error.code == "idempotency_key_running":
        return True
    return method != "DELETE" and (error.status == 502 or isinstance(error, ConnectionFailedError))


def _error_for(status: int, headers: Any, text: bytes, place: str) -> ChartwireError:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    code = body.get("code", body.get("error"))
    try:
        retry_after: Optional[float] = float(headers.get("retry-after"))
    except (TypeError, ValueError):
        retry_after = None
    message = body.get("message")
    if message is None:
        message = f"{place} returned status {status}, but the error is not from Chartwire. Check base_url, and any proxy in between."
    elif code in _REMEDIES:
        message = f"{message} {_REMEDIES[code]}"
    return _class_for(status, code)(
        message,
        code=code,
        status=status,
        request_id=body.get("request_id", headers.get("x-request-id")),
        field=body.get("field"),
        errors=body.get("errors", ()),
        remedy=body.get("remedy"),
        doc_url=body.get("doc_url"),
        retry_after_seconds=retry_after,
    )


def _class_for(status: int, code: Optional[str]) -> Any:
    if code == "login_required":
        return LoginRequiredError
    if code == "cursor_expired":
        return CursorExpiredError
    if status in (401, 403):
        return AuthenticationError
    if status == 404:
        return NotFoundError
    if status in (409, 410, 422):
        return ConflictError
    if status == 429:
        return RateLimitError
    if status in (502, 503, 504):
        return ServiceUnavailableError
    return ValidationError if 400 <= status < 500 else ChartwireError


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quote(value: Any) -> str:
    return urllib.parse.quote(str(value), safe="")


def _file(value: Any) -> File:
    if isinstance(value, File):
        return value
    if isinstance(value, bytes):
        return File(value)
    content = value.read()
    if not isinstance(content, bytes):
        raise TypeError('Open the file to upload in binary mode: open(path, "rb").')
    name = getattr(value, "name", None)
    return File(content, os.path.basename(name)) if isinstance(name, str) and name else File(content)


def _form(fields: Mapping[str, Any]) -> "tuple[bytes, str]":
    boundary = _secrets.token_hex(16)
    parts: List[bytes] = []
    for name, value in fields.items():
        if value is None:
            continue
        disposition = f'Content-Disposition: form-data; name="{name}"'
        if isinstance(value, (File, bytes)) or hasattr(value, "read"):
            file = _file(value)
            filename = file.name.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
            head = f'{disposition}; filename="{filename}"\r\nContent-Type: application/octet-stream'
            content = file.content
        else:
            head, content = disposition, _text(value).encode()
        parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class _Resource:
    def __init__(self, transport: _Transport) -> None:
        self._transport = transport


class _ListCall:
    """The requests for the pages of a list."""

    def __init__(
        self,
        path: str,
        query: Mapping[str, Any],
        items: str,
        body: Optional[Mapping[str, Any]],
        route: Optional[str],
    ) -> None:
        self.path = path
        self.query = query
        self.items = items
        self.body = body
        self.route = route or path

    def compose(self, more: Mapping[str, Any]) -> Tuple[str, str, Dict[str, Any]]:
        if self.body is None:
            return "GET", self.path, {"query": {**self.query, **more}, "route": self.route}
        # A search: its filters and paging are in the body.
        return "POST", self.path, {"query": self.query, "body": {**self.body, **more}, "reads": True, "route": self.route}


def _next_page(page: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    # Most lists are numbered, or walked by `cursor` if the caller sent one. A list that grows at its start has `before`.
    pagination = page.get("pagination") or {}
    if pagination.get("next_cursor"):
        return {"cursor": pagination["next_cursor"]}
    if pagination.get("page", 0) < pagination.get("total_pages", 0):
        return {"page": pagination["page"] + 1}
    if page.get("has_more") and page.get("next_cursor"):
        return {"cursor": page["next_cursor"]}
    return {"before": page["next"]} if page.get("next") else None


class Page:
    """A list. `page` is one page as the service sends it; iterating goes through the records of all pages."""

    def __init__(
        self,
        transport: _Transport,
        path: str,
        query: Mapping[str, Any],
        items: str,
        body: Optional[Mapping[str, Any]] = None,
        route: Optional[str] = None,
    ) -> None:
        self._transport = transport
        self._call = _ListCall(path, query, items, body, route)
        self._first: Any = None

    def __repr__(self) -> str:
        return f"Page({self._call.route!r})"

    def _load(self, more: Mapping[str, Any]) -> Any:
        method, path, options = self._call.compose(more)
        return self._transport.request(method, path, **options)

    @property
    def page(self) -> Dict[str, Any]:
        if self._first is None:
            self._first = self._load({})
        return cast(Dict[str, Any], self._first)

    def __iter__(self) -> Iterator[Any]:
        page = self.page
        while True:
            yield from page[self._call.items]
            more = _next_page(page)
            if more is None:
                return
            page = self._load(more)


def _changes_query(
    cursor: Optional[str], kinds: Union[Sequence[str], str, None], limit: Optional[int]
) -> Dict[str, Any]:
    # A text is a sequence, too: of one kind, or of several with commas.
    sent_kinds = kinds if kinds is None or isinstance(kinds, str) else ",".join(kinds)
    return {"cursor": cursor or None, "limit": limit, "kinds": sent_kinds}


def _follow_changes(
    transport: _Transport,
    cursor: Optional[str],
    kinds: Union[Sequence[str], str, None],
    limit: Optional[int],
    save_cursor: Optional[Callable[[str], Any]],
    poll_seconds: float,
    until_current: bool,
) -> Iterator[Any]:
    while True:
        page = transport.request("GET", "/v1/changes", query=_changes_query(cursor, kinds, limit))
        yield from page["changes"]
        if page["next_cursor"] != cursor and save_cursor is not None:
            save_cursor(page["next_cursor"])
        cursor = page["next_cursor"]
        if page["has_more"]:
            continue
        if until_current:
            return
        time.sleep(poll_seconds)


def _wait_for_job(transport: _Transport, job_id: int, timeout: float) -> Any:
    def look(left: float) -> Any:
        path = f"/v1/jobs/{_quote(job_id)}"
        job = transport.request("GET", path, timeout=left, route="/v1/jobs/{job_id}")["job"]
        return None if job["finished_at"] is None else job

    job = _poll(f"Job {job_id}", timeout, look, job_id)
    events = transport.request("GET", "/v1/webhook-events", query={"job_id": job_id})["webhook_events"]
    return _outcome_of(job, events, job_id)


def _outcome_of(job: Mapping[str, Any], events: Sequence[Dict[str, Any]], job_id: int) -> Any:
    if not events:
        raise ChartwireError(f"Job {job_id} has finished, but its event is older than 30 days.")
    if job["status"] in ("failed", "needs_review", "cancelled"):
        raise _failure(events[0], job["status"], (job["error"] or {}).get("code"), job_id)
    return events[0]


def _wait_for_event(transport: _Transport, field: str, value: str, types: Sequence[str], timeout: float) -> Any:
    def look(left: float) -> Any:
        for event_type in types:
            query = {"event_type": event_type, "page_size": 100}
            found = transport.request("GET", "/v1/webhook-events", query=query, timeout=left)["webhook_events"]
            for event in found:
                if event["data"].get(field) == value:
                    return event
        return None

    event = _poll(f"The event of {value}", timeout, look, None)
    if event["type"].endswith("failed"):
        raise _failure(event, "failed", None, None)
    return event


def _not_finished(what: str, job_id: Optional[int]) -> TimedOutError:
    error = TimedOutError(
        f"{what} has not finished in time. It continues in the service: wait again, or use webhooks."
    )
    error.job_id = job_id
    return error


def _poll(what: str, timeout: float, look: Callable[[float], Any], job_id: Optional[int]) -> Any:
    """Looks after 0.2 s, then in growing intervals of up to 5 s."""
    deadline = time.monotonic() + timeout
    pause = 0.2
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _not_finished(what, job_id)
        found = look(left)
        if found is not None:
            return found
        time.sleep(max(min(pause * (0.75 + random.random() / 2), deadline - time.monotonic()), 0))
        pause = min(pause * 1.5, 5)


def _failure(event: Dict[str, Any], outcome: str, code: Optional[str], job_id: Optional[int]) -> JobFailedError:
    data = event["data"]
    reason = data.get("failure_reason") or data.get("error") or event["type"]
    if outcome == "needs_review":
        reason = f"{reason} It is unknown whether it was saved: check in the EMR."
    return JobFailedError(reason, outcome=outcome, event=event, code=code, job_id=job_id)
