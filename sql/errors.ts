/** The connection was lost, refused or closed. Whether a statement in progress took effect is unknown. */
export class ConnectionError extends Error {
  readonly code: keyof typeof messages;
  constructor(code: ConnectionError['code'], options?: ErrorOptions) {
    super(messages[code], options);
    this.name = 'ConnectionError';
    this.code = code;
  }
}

const messages = {
  CONNECTION_CLOSED: 'The connection to the database was lost.',
  CONNECTION_ENDED: 'The connections to the database are closed.',
  CONNECTION_TO_STANDBY: 'The database server is a standby.',
  CONNECT_TIMEOUT: 'The database did not accept a connection in time.',
  TLS_UNSUPPORTED: 'The database does not offer TLS.',
} as const;

/** node-postgres reports most lost connections without a code; these are its texts (8.23). */
const error_patterns: [text: RegExp, code: ConnectionError['code']][] = [
  [/timeout/, 'CONNECT_TIMEOUT'],
  [/^Connection terminated|not queryable/, 'CONNECTION_CLOSED'],
  [/does not support SSL/, 'TLS_UNSUPPORTED'],
  [/SSL connection/, 'CONNECTION_CLOSED'],
];

const io_error = '58030';
/** The parts of PostgreSQL that open and extend its files. */
const storage_files = new Set(['md.c', 'fd.c']);

/**
 * Gives driver errors the code by which callers recognize them: lost connections have none, and a read-only disk has that
 * of a missing permission.
 */
export function translateError(error: Error & { code?: unknown; file?: unknown }): Error {
  if (error.code === '42501' && storage_files.has(String(error.file))) return Object.assign(error, { code: io_error });
  if (error.code !== undefined) return error;
  const [, code] = error_patterns.find(([text]) => text.test(error.message)) ?? [];
  return code === undefined ? error : new ConnectionError(code, { cause: error });
}
