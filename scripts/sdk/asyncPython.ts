/**
 * The asynchronous class of a resource, made of its synchronous one: both come from the same declarations, and differ
 * only in what is awaited.
 */
export function toAsyncClass(text: string): string {
  return (
    text
      .replaceAll(/\b(\w+)Resource\b/g, (name, noun: string) => (noun.startsWith('Async') ? name : `Async${name}`))
      .replace('(Async_Resource)', '(_AsyncResource)')
      .replace('(_Resource)', '(_AsyncResource)')
      .replaceAll('transport: _Transport', 'transport: _AsyncTransport')
      .replaceAll(/^ {4}def (?!__init__)(\w+)\(/gm, '    async def $1(')
      // Lists and feeds are returned as they are, and awaited by their reader.
      .replaceAll(/^ {4}async def (\w+\([^\n]*\) -> Page:)$/gm, '    def $1')
      .replace('    async def follow(', '    def follow(')
      .replaceAll('-> Page:', '-> AsyncPage:')
      .replaceAll('return Page(', 'return AsyncPage(')
      .replaceAll('-> Iterator[', '-> AsyncIterator[')
      .replaceAll('return _follow_changes(', 'return _async_follow_changes(')
      .replaceAll('self._transport.request(', 'await self._transport.request(')
      .replaceAll('accepted = self.', 'accepted = await self.')
      .replaceAll(/\b_wait_for_(job|event)\(/g, 'await _async_wait_for_$1(')
  );
}

/** The asynchronous client. `fields` are the assignments of its resources. */
export function printAsyncClient(fields: readonly string[]): string {
  return `class AsyncChartwire:
    """The same client for asyncio: \`async with AsyncChartwire() as client\`. Its options are those of Chartwire.

    Each attempt of a request takes one of \`requests_max\` threads. A request that is canceled may still arrive: send a
    write again with the same idempotency key.
    """

    def __init__(self, *, requests_max: int = 32, **options: Any) -> None:
        self._options = options
        self._executor: Optional[ThreadPoolExecutor] = ThreadPoolExecutor(requests_max, "chartwire")
        self._connect(Chartwire(**options), self._executor)

    def _connect(self, client: Chartwire, executor: Executor) -> None:
        self._client = client
        self._shared = executor
        transport = _AsyncTransport(client._transport, executor)
${fields.join('\n').replaceAll(/= (\w+Resource)\(/g, '= Async$1(')}

    def for_account(self, access_token: str) -> AsyncChartwire:
        """The same client for another linked account. It uses the threads of this one."""
        other = AsyncChartwire.__new__(AsyncChartwire)
        other._options = self._options
        other._executor = None
        other._connect(self._client.for_account(access_token), self._shared)
        return other

    @property
    def last_response(self) -> Optional[ReceivedResponse]:
        return self._client.last_response

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    async def aclose(self) -> None:
        """Ends the threads, once the requests that are running have ended."""
        if self._executor is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._executor.shutdown)

    async def __aenter__(self) -> AsyncChartwire:
        return self

    async def __aexit__(self, *_error: Any) -> None:
        await self.aclose()`;
}
