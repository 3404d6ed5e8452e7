/**
 * Faults of the driver (postgres 3.4.9) that end the process, lose a connection or leave a question without an answer
 * when the server goes away under load, each with the text it stands in and what stands there instead. Known upstream
 * are issues 1066, 1130, 1154, 1186, 1193 and 1208 of porsager/postgres, all open; when a release mends them, this file
 * and `mendDriver.ts` go. What each led to stands in docs/decisions/0004.
 */
export const faults = [
  {
    file: 'connection.js',
    about: 'A write that was put off finds its socket gone: thrown from a timer, it ends the process.',
    before: 'const x = socket.write(chunk, fn)',
    after: `if (socket === null) {
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options))
      return false
    }
    const x = socket.write(chunk, fn)`,
  },
  {
    file: 'connection.js',
    about: 'A connection that closes with a write put off never writes again: the timer looks armed for ever.',
    before: 'clearImmediate(nextWriteTimer)\n    socket.removeListener',
    after: 'clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n    socket.removeListener',
  },
  {
    file: 'connection.js',
    about: 'The question for array types is awaited by nobody: its failure ends the process.',
    before: 'return fetchArrayTypes()',
    after: 'return fetchArrayTypes().catch(() => {})',
  },
  {
    // What was asked between a socket's error and its close waits for ever, or is told the success of the next session's
    // greeting; the next session's first caller is told the error of this one, or its connection waits for an answer to
    // a question it never sent. With several hosts a first question is kept for the next host, as before.
    file: 'connection.js',
    about: 'A connection that closes keeps the questions and half-read answers of its session for the next one.',
    before: `if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))`,
    after: `if (initial && options.host.length > 1)
      return reconnect()

    if (initial || query || sent.length)
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
    rows = 0`,
  },
  {
    file: 'connection.js',
    about: 'A connection that closes by itself while it is being ended never says so: the end waits for its timeout.',
    before: "onclose(connection, Errors.connection('CONNECTION_CLOSED', options, socket))",
    after: `onclose(connection, Errors.connection('CONNECTION_CLOSED', options, socket))
    ended && (ended(), ending = ended = null)`,
  },
  {
    file: 'connection.js',
    about: 'Nothing remembers that a connection is about to be opened again (see the next one).',
    before: 'let socket = null\n',
    after: 'let reconnecting = null\n    , socket = null\n',
  },
  {
    file: 'connection.js',
    about: 'A connection about to be opened again is opened even after its pool was ended, and stays.',
    before: 'setTimeout(connect, closedTime',
    after: 'reconnecting = setTimeout(connect, closedTime',
  },
  {
    file: 'connection.js',
    about: 'Ending a pool leaves a connection that is being opened to its timeout, and the process with it.',
    before: `clearImmediate(nextWriteTimer)
    if (socket) {
      socket.removeListener('data', data)
      socket.removeListener('connect', connected)
      socket.readyState === 'open' && socket.end(b().X().end())`,
    after: `clearImmediate(nextWriteTimer)
    clearTimeout(reconnecting)
    if (socket) {
      socket.removeListener('data', data)
      socket.removeListener('connect', connected)
      socket.readyState === 'open' ? socket.end(b().X().end()) : socket.destroy()`,
  },
  {
    file: 'index.js',
    about: 'A pool that is being ended opens connections again for the questions still waiting, and leaves them open.',
    before: 'queries.length && connect(c, queries.shift())\n  }',
    after: `while (ending && queries.length)
      queries.shift().reject(Errors.connection('CONNECTION_ENDED', options, options))
    queries.length && connect(c, queries.shift())
  }`,
  },
  {
    file: 'index.js',
    about: 'A transaction does not know that its connection is gone (see the next two).',
    before: 'let savepoints = 0\n',
    after: 'let savepoints = 0\n      , gone = null\n',
  },
  {
    file: 'index.js',
    about: 'Questions of a transaction that wait for their turn never hear that its connection is gone.',
    before: 'connection.onclose = reject)',
    after: `connection.onclose = error => {
          gone = error
          while (queries.length)
            queries.shift().reject(error)
          reject(error)
        })`,
  },
  {
    file: 'index.js',
    about: "A transaction goes on on its connection's next session: outside of a transaction, or inside another's.",
    before: 'q.catch(e => uncaughtError || (uncaughtError = e))',
    after: `q.catch(e => uncaughtError || (uncaughtError = e))
        if (gone)
          return q.reject(gone)`,
  },
  {
    file: 'index.js',
    about:
      'Every failed try to listen again leaves its questions in the queue: they grow as long as the server is gone.',
    before: 'delete listen.channels[name]',
    after: 'listen.channels[name].result.cancel()\n          delete listen.channels[name]',
  },
] as const;

export type DriverFile = (typeof faults)[number]['file'];

/** A file of the driver without its faults. One that does not have them is another version: look before you run. */
export function mended(file: DriverFile, source: string): string {
  return faults
    .filter((fault) => fault.file === file)
    .reduce((text, fault) => {
      if (text.split(fault.before).length !== 2) throw new Error(`The driver is not the one we mend: ${fault.about}`);
      return text.replace(fault.before, () => fault.after);
    }, source);
}
