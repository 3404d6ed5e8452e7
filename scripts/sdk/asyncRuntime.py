class _AsyncTransport:
    """Sends each attempt of a request in a thread, because the standard library has no asynchronous HTTP. Pauses and waits
    for jobs take no thread."""

    def __init__(self, transport: _Transport, executor: Executor) -> None:
        self.sync = transport
        self._executor = executor

    async def request(self, method: str, path: str, **options: Any) -> Any:
        call = self.sync.prepare(method, path, **options)
        loop = asyncio.get_running_loop()
        attempt = 0
        while True:
            attempt += 1
            try:
                return await loop.run_in_executor(self._executor, self.sync.attempt, call, attempt)
            except ChartwireError as error:
                pause = self.sync.pause_before_retry(call, error, attempt)
            await asyncio.sleep(pause)


class _AsyncResource:
    def __init__(self, transport: _AsyncTransport) -> None:
        self._transport = transport


class AsyncPage:
    """A list. `await page.first()` is one page as the service sends it; `async for` goes through all pages."""

    def __init__(
        self,
        transport: _AsyncTransport,
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
        return f"AsyncPage({self._call.route!r})"

    async def _load(self, more: Mapping[str, Any]) -> Any:
        method, path, options = self._call.compose(more)
        return await self._transport.request(method, path, **options)

    async def first(self) -> Dict[str, Any]:
        if self._first is None:
            self._first = await self._load({})
        return cast(Dict[str, Any], self._first)

    async def __aiter__(self) -> AsyncIterator[Any]:
        page = await self.first()
        while True:
            for each in page[self._call.items]:
                yield each
            more = _next_page(page)
            if more is None:
                return
            page = await self._load(more)


async def _async_follow_changes(
    transport: _AsyncTransport,
    cursor: Optional[str],
    kinds: Union[Sequence[str], str, None],
    limit: Optional[int],
    save_cursor: Optional[Callable[[str], Any]],
    poll_seconds: float,
    until_current: bool,
) -> AsyncIterator[Any]:
    while True:
        page = await transport.request("GET", "/v1/changes", query=_changes_query(cursor, kinds, limit))
        for each in page["changes"]:
            yield each
        if page["next_cursor"] != cursor and save_cursor is not None:
            saved = save_cursor(page["next_cursor"])
            if inspect.isawaitable(saved):
                await saved
        cursor = page["next_cursor"]
        if page["has_more"]:
            continue
        if until_current:
            return
        await asyncio.sleep(poll_seconds)


async def _async_wait_for_job(transport: _AsyncTransport, job_id: int, timeout: float) -> Any:
    async def look(left: float) -> Any:
        path = f"/v1/jobs/{_quote(job_id)}"
        job = (await transport.request("GET", path, timeout=left, route="/v1/jobs/{job_id}"))["job"]
        return None if job["finished_at"] is None else job

    job = await _async_poll(f"Job {job_id}", timeout, look, job_id)
    events = (await transport.request("GET", "/v1/webhook-events", query={"job_id": job_id}))["webhook_events"]
    return _outcome_of(job, events, job_id)


async def _async_wait_for_event(
    transport: _AsyncTransport, field: str, value: str, types: Sequence[str], timeout: float
) -> Any:
    async def look(left: float) -> Any:
        for event_type in types:
            query = {"event_type": event_type, "page_size": 100}
            page = await transport.request("GET", "/v1/webhook-events", query=query, timeout=left)
            for event in page["webhook_events"]:
                if event["data"].get(field) == value:
                    return event
        return None

    event = await _async_poll(f"The event of {value}", timeout, look, None)
    if event["type"].endswith("failed"):
        raise _failure(event, "failed", None, None)
    return event


async def _async_poll(
    what: str, timeout: float, look: Callable[[float], Awaitable[Any]], job_id: Optional[int]
) -> Any:
    """Looks after 0.2 s, then in growing intervals of up to 5 s."""
    deadline = time.monotonic() + timeout
    pause = 0.2
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _not_finished(what, job_id)
        found = await look(left)
        if found is not None:
            return found
        await asyncio.sleep(max(min(pause * (0.75 + random.random() / 2), deadline - time.monotonic()), 0))
        pause = min(pause * 1.5, 5)
