import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Connector } from './connectors/connector.ts';
import type { Bell } from './db/bell.ts';
import type { Database } from './db/database.ts';
import type { Lookups } from './db/lookups.ts';
import type { Metrics } from './metrics.ts';
import type { Outbound } from './security/outbound.ts';
import type { SigningKeys } from './security/signingKeys.ts';
import type { Vault } from './security/vault.ts';

/** What every part of a process works with; made once in main.ts and handed down as the first argument. */
export type Context = {
  config: Config;
  /** As clients and browsers see the service. Where any free port was asked for, known once the service listens. */
  base_url: string;
  log: Logger;
  metrics: Metrics;
  db: Database;
  bell: Bell;
  lookups: Lookups;
  vault: Vault;
  signing_keys: SigningKeys;
  outbound: Outbound;
  connectors: ReadonlyMap<string, Connector>;
};
