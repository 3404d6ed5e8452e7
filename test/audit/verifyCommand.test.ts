import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { connect } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { reanchorAuditCommand, verifyAuditCommand } from '../../src/surfaces/cli/audit.ts';
import { createClientCommand } from '../../src/surfaces/cli/credentials.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  return fixture.close;
});
afterEach(() => {
  process.exitCode = undefined;
});

/** What a command prints, and its exit code. */
async function runCommand(command: () => Promise<void>) {
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => print.mockRestore());
  await command();
  const printed = print.mock.calls.join('');
  print.mockRestore();
  return { printed, code: process.exitCode };
}

test('audit verify reports an erased log until audit reanchor accepts it', async () => {
  const { ctx, owner } = fixture;
  const verify = () => runCommand(() => verifyAuditCommand(ctx.config, []));
  const intact = async () => (await ctx.metrics.audit_intact.get()).values[0]?.value;
  await until('the running service to anchor the log', async () => (await intact()) === 1);
  const before = await verify();
  expect(before.printed).toMatch(
    /^Records: \d+ .*Anchors: 1\.\nThe audit log is unchanged, in order and complete\.\n$/,
  );
  expect(before.code).toBeUndefined();

  await owner.begin(async (tx) => {
    await tx`DELETE FROM audit_records`;
    await tx`DELETE FROM audit_head`;
  });
  const erased = await verify();
  expect(erased.printed).toMatch(/Record \d+ was anchored, but the log ends before it/);
  expect(erased.printed).toContain('The audit log was tampered with.');
  expect(erased.code).toBe(1);
  process.exitCode = undefined;
  await until('the running service to notice it', async () => (await intact()) === 0);

  const accepted = await runCommand(() => reanchorAuditCommand(ctx.config));
  expect(accepted.printed).toMatch(/^The audit log is accepted up to record \d+\. It was anchored at \d+ before\.\n$/);
  await until('the running service to accept it', async () => (await intact()) === 1);
  expect(await verify()).toMatchObject({ code: undefined });
  const actions = await owner<{ action: string; outcome: string }[]>`
    SELECT action, outcome FROM audit_records WHERE action LIKE 'audit.%' AND actor = 'command line' ORDER BY id`;
  expect(actions.map(({ action, outcome }) => `${action} ${outcome}`)).toStrictEqual([
    'audit.verify failed',
    'audit.reanchor accepted',
    'audit.verify ok',
  ]);
});

test('a command adds its records to the chain before it ends, also if no service is running', async () => {
  const database = await freshDatabase('commands', await template('audit', migrate));
  onTestFinished(database.drop);
  const data_dir = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'commands-'));
  onTestFinished(() => rm(data_dir, { recursive: true }));
  const config = loadConfig({ DATABASE_URL: database.url, DATA_DIR: data_dir });
  await runCommand(() => createClientCommand(config, { name: 'Sealed' }));
  const owner = connect(database.address, { max: 1 });
  onTestFinished(() => owner.end());
  const rows = await owner<{ position: number | null }[]>`SELECT position FROM audit_records ORDER BY id`;
  expect(rows.length).toBeGreaterThan(0);
  expect(rows).toStrictEqual(rows.map((_, n) => ({ position: n + 1 })));
});
