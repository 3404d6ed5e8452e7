import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');

/** Tables whose file has another name than the table, because it owns more than the rows or several small tables. */
const owners: Record<string, string> = {
  client_secrets: 'product/clients/clients.ts',
  data_keys: 'platform/security/vault.ts',
  delivery_attempts: 'product/webhooks/deliveries.ts',
  master_keys: 'platform/security/keys.ts',
  role_secrets: 'platform/db/roles.ts',
  schema_migrations: 'platform/db/migrate.ts',
  webhook_endpoints: 'product/webhooks/endpoints.ts',
  webhook_secrets: 'product/webhooks/secrets.ts',
};

test('all writes to a table are in the file that owns it; reads may join', () => {
  const misplaced = [...writes()].flatMap(([table, files]) => {
    const owns = (file: string) =>
      owners[table] === undefined ? basename(file, '.ts') === camelCase(table) : owners[table] === file;
    return [...files].filter((file) => !owns(file)).map((file) => `${table} is written in ${file}`);
  });
  expect(misplaced).toStrictEqual([]);
});

test('no exception is listed without need', () => {
  const found = writes();
  expect(Object.keys(owners).filter((table) => !found.has(table))).toStrictEqual([]);
});

/** Each table with the files that insert, update or delete its rows. Tables named by a variable are not seen. */
function writes(): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const file of files) {
    const code = readFileSync(join(src, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm, '');
    for (const [, table = ''] of code.matchAll(/\b(?:INSERT INTO|DELETE FROM|UPDATE)\s+([a-z_]+)\b/g)) {
      tables.set(table, (tables.get(table) ?? new Set()).add(file));
    }
  }
  // `FOR NO KEY UPDATE SKIP LOCKED`, `DO UPDATE SET` and similar are followed by capitals and never match.
  return tables;
}

function camelCase(table: string): string {
  return table.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
