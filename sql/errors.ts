/** The connection was lost, refused or closed: nothing is known of a statement that was under way. */
export class ConnectionError extends Error {
  readonly code: 'CONNECTION_CLOSED' | 'CONNECTION_ENDED' | 'CONNECT_TIMEOUT';
  constructor(code: ConnectionError['code'], options?: ErrorOptions) {
    super(messages[code], options);
    this.name = 'ConnectionError';
    this.code = code;
  }
}

const messages = {
  CONNECTION_CLOSED: 'The connection to the database was lost.',
  CONNECTION_ENDED: 'The connections to the database are closed.',
  CONNECT_TIMEOUT: 'The database did not accept a connection in time.',
} as const;

/** node-postgres reports most lost connections without a code; these are its texts (8.23). */
const known: [text: RegExp, code: ConnectionError['code']][] = [
  [/timeout/, 'CONNECT_TIMEOUT'],
  [/^Connection terminated|not queryable/, 'CONNECTION_CLOSED'],
  [/SSL connection/, 'CONNECTION_CLOSED'],
];

/** Gives an error of the driver a code where it has none, so that callers can tell a lost connection by its code. */
export function translateError(error: Error & { code?: unknown }): Error {
  if (error.code !== undefined) return error;
  const [, code] = known.find(([text]) => text.test(error.message)) ?? [];
  return code === undefined ? error : new ConnectionError(code, { cause: error });
}
