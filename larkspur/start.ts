import type { Context } from './context.ts';
import { controlToken } from './control/control.ts';
import { migrate } from './database/migrate.ts';
import { type DatabaseAddress, openDatabase } from './database/open.ts';
import { getPractice, type Practice } from './practice/practice.ts';
import { example } from './seed/example.ts';
import { layPractice } from './seed/layPractice.ts';
import { type SeededStaff, seededStaff } from './seed/staff.ts';
import { buildServer } from './server.ts';

export interface LarkspurOptions {
  database: DatabaseAddress;
  host: string;
  /** 0 takes any free one. */
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

/** Opens the reference EMR on a database that exists: lays what is missing, listens, and says who may sign in. */
export async function startLarkspur(options: LarkspurOptions): Promise<Larkspur> {
  const { now = () => new Date(), log = () => {} } = options;
  const sql = await openDatabase(options.database);
  try {
    let control_token = '';
    await migrate(sql, async (tx) => {
      control_token = await controlToken(tx);
      await layPractice(tx, control_token, now());
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
