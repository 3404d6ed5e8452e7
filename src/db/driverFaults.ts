/**
 * Three faults of the driver (postgres 3.4.9) that end the process or a connection for good when the server goes away
 * under load, each with the text it stands in and what stands there instead. All are known upstream (issues 1066, 1154
 * and 1208 of porsager/postgres) and open; when a release mends them, this file and `mendDriver.ts` go.
 */
export const faults = [
  {
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
    about: 'A connection that closes with a write put off never writes again: the timer looks armed for ever.',
    before: 'clearImmediate(nextWriteTimer)\n    socket.removeListener',
    after: 'clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n    socket.removeListener',
  },
  {
    about: 'The question for array types is awaited by nobody: its failure ends the process.',
    before: 'return fetchArrayTypes()',
    after: 'return fetchArrayTypes().catch(() => {})',
  },
] as const;

/** The driver's source without the faults. A source that does not have them is another version: look before you run. */
export function mended(source: string): string {
  return faults.reduce((text, fault) => {
    if (text.split(fault.before).length !== 2) throw new Error(`The driver is not the one we mend: ${fault.about}`);
    return text.replace(fault.before, () => fault.after);
  }, source);
}
