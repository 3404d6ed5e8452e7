import type { Writable } from 'node:stream';
import pg from 'pg';
import { ConnectionError, translateError } from './errors.ts';
import type { Prepared, Row } from './statement.ts';

/** `behind_pooler`: what the server reports about itself is not used, because a pooler repeats it from its cache. */
export type ClientConfig = pg.ClientConfig & { behind_pooler?: boolean };

/** A connection that fails to open if its server is a standby, which would return old rows and refuse every write. */
export class Client extends pg.Client {
  constructor(config: ClientConfig) {
    super(config);
    if (config.behind_pooler) return;
    // PostgreSQL reports it before the connection is ready for statements.
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName !== 'in_hot_standby' || parameterValue !== 'on') return;
      // Often in the same packet, and would be handled before the error.
      this.connection.removeAllListeners('readyForQuery');
      this.connection.stream.destroy(new ConnectionError('CONNECTION_TO_STANDBY'));
    });
  }
}

/** Sends a statement. Those of one turn of the event loop leave in one packet: each system call costs as much as a small statement. */
export function send(client: pg.Client, statement: Prepared): Promise<pg.QueryResult<Row>> {
  corkUntilEndOfTurn(client.connection.stream);
  return new Promise((resolve, reject) => {
    client.query<Row>(statement, (error, result) => {
      if (error) reject(translateError(error));
      else resolve(result);
    });
  });
}

const corked = new WeakSet<Writable>();

/** Promises that are settled now run first, so that they can add statements of their own. */
function corkUntilEndOfTurn(stream: Writable): void {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  process.nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}

type ParameterStatus = { parameterName: string; parameterValue: string };

/** The server allows no writes: after a failover a proxy or a pooler may still lead to the former primary. */
export function isFromStandby(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '25006';
}
