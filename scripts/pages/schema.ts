import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type DatabaseAddress } from '../../src/platform/db/database.ts';
import { startEmbedded } from '../../src/platform/db/embedded/start.ts';
import { migrate } from '../../src/platform/db/migrate.ts';

/** docs/reference/schema.md: the schema as PostgreSQL reports it after all migrations, on a server started for this. */
export async function schemaPage(): Promise<string> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-schema-'));
  const server = await startEmbedded({ data_dir, settings: { fsync: 'off' } });
  try {
    const { host, port, user, password } = server;
    const address: DatabaseAddress = { host, port, user, password, database: 'postgres', ssl: false };
    await migrate(address);
    return [heading, ...(await describeTables(address)), ''].join('\n');
  } finally {
    await server.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

const heading = `# Database schema

Generated from PostgreSQL's catalogs by \`npm run generate\`. The reasons are in the comments of \`src/platform/db/migrations\`.
`;

type Table = { name: string; protected: boolean; columns: Column[]; rules: string[]; grants: string[] };
type Column = { name: string; type: string; required: boolean; initial: string | null };

/** Markdown for every table, in alphabetical order. */
export async function describeTables(address: DatabaseAddress): Promise<string[]> {
  const sql = connect(address, { max: 1 });
  try {
    const tables = await sql<Table[]>`
      SELECT relname::text AS name, relrowsecurity AND relforcerowsecurity AS protected,
        (SELECT json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod),
             'required', attnotnull, 'initial', CASE WHEN attidentity <> '' THEN 'generated always as identity'
               WHEN attgenerated <> '' THEN 'generated: ' || pg_get_expr(adbin, adrelid)
               ELSE pg_get_expr(adbin, adrelid) END) ORDER BY attnum)
           FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
          WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped) AS columns,
        ARRAY(SELECT line FROM (
            SELECT 1 AS part, conname::text || ': ' || pg_get_constraintdef(c.oid) AS line
              FROM pg_constraint c WHERE conrelid = t.oid AND contype <> 'n'
            UNION ALL
            SELECT 2, regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX (\\S+) ON \\S+ USING ', '\\2: \\1')
              FROM pg_index WHERE indrelid = t.oid
               AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
            UNION ALL
            SELECT 3, regexp_replace(pg_get_triggerdef(oid), '^CREATE TRIGGER (\\S+) ', '\\1: ')
              FROM pg_trigger WHERE tgrelid = t.oid AND NOT tgisinternal
            UNION ALL
            SELECT 4, format('policy %s for %s: %s', polname, polroles::regrole[]::text[],
                coalesce(pg_get_expr(polqual, polrelid), '') ||
                CASE WHEN pg_get_expr(polqual, polrelid) = pg_get_expr(polwithcheck, polrelid) THEN ''
                     ELSE ' WITH CHECK ' || coalesce(pg_get_expr(polwithcheck, polrelid), '') END)
              FROM pg_policy WHERE polrelid = t.oid
          ) AS rules ORDER BY part, line) AS rules,
        ARRAY(SELECT line FROM (
            SELECT grantee || ': ' || string_agg(privilege_type, ', ' ORDER BY privilege_type) AS line
              FROM information_schema.role_table_grants
             WHERE table_schema = 'public' AND table_name = relname AND grantee LIKE 'chartwire\\_%' GROUP BY grantee
            UNION ALL
            SELECT grantee || ': ' || privilege_type || ' (' || string_agg(column_name, ', ' ORDER BY column_name) || ')'
              FROM information_schema.column_privileges AS c
             WHERE table_schema = 'public' AND table_name = relname AND grantee LIKE 'chartwire\\_%'
               AND NOT EXISTS (SELECT FROM information_schema.role_table_grants AS g
                 WHERE g.table_schema = 'public' AND g.table_name = relname AND g.grantee = c.grantee
                   AND g.privilege_type = c.privilege_type)
             GROUP BY grantee, privilege_type
          ) AS grants ORDER BY line) AS grants
        FROM pg_class AS t WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY relname`;
    return tables.map(describe);
  } finally {
    await sql.end();
  }
}

function describe(table: Table): string {
  const columns = table.columns.map(({ name, type, required, initial }) => {
    const value = initial === null ? '' : `\`${initial.replaceAll('|', '\\|').replace(/\s+/g, ' ')}\``;
    return `| \`${name}\` | ${type} | ${required ? 'yes' : ''} | ${value} |`;
  });
  const list = (lines: string[]) => lines.map((line) => `- \`${line.replace(/\s+/g, ' ')}\``);
  return [
    `## ${table.name}`,
    '',
    `Row-level security: ${table.protected ? 'forced' : 'none'}.`,
    '',
    '| column | type | not null | default |',
    '|---|---|---|---|',
    ...columns,
    '',
    ...list(table.rules),
    ...(table.grants.length > 0 ? ['', 'Grants:', '', ...list(table.grants)] : []),
    '',
  ].join('\n');
}
