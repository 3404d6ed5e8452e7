import type { Context } from './context.ts';
import { controlToken } from './control/control.ts';
import { migrate } from './database/migrate.ts';
import { type DatabaseAddress, openDatabase } from './database/open.ts';
import { getPractice, type Practice } from './practice/practice.ts';
import { example, seedPractice } from './seed/seedPractice.ts';
import { type SeededStaff, seededStaff } from './seed/staff.ts';
import { buildServer } from './server.ts';

export interface LarkspurOptions {
  database: DatabaseAddress;
  host: string;
  /** 0 picks a free port. */
  port: number;
  now?: () => Date;
  log?: (line: string) => void;
}

export interface Larkspur {
  url: string;
  port: number;
  control_token: string;
  practice: Practice;
  staff: SeededStaff[];
  example: typeof example;
  close(): Promise<void>;
}

/** Starts the reference EMR on an existing database: migrates and seeds it if needed, then listens. */
export async function startLarkspur(options: LarkspurOptions): Promise<Larkspur> {
  const { now = () => new Date(), log = () => {} } = options;
  const sql = await openDatabase(options.database);
  try {
    let control_token = '';
    await migrate(sql, async (tx) => {
      control_token = await controlToken(tx);
      await seedPractice(tx, control_token, now());
    });
    const context: Context = { sql, now, log, control_token };
    const app = buildServer(context);
    await app.listen({ host: options.host, port: options.port });
    const address = app.server.address();
    const port = typeof address === 'object' && address ? address.port : options.port;
    return {
      url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
      port,
      control_token,
      practice: await getPractice(sql),
      staff: seededStaff(control_token),
      example,
      close: async () => {
        await app.close();
        await sql.end({ timeout_ms: 5_000 });
      },
    };
  } catch (error) {
    await sql.end({ timeout_ms: 5_000 });
    throw error;
  }
}
