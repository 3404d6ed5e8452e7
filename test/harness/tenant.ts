import { randomBytes } from 'node:crypto';
import { newId, newReference } from '../../src/catalog/ids.ts';
import type { Sql } from '../../src/platform/db/database.ts';

export type Tenant = { client_id: string; organization_id: string; account_id: string; reference_id: string };

/**
 * Inserts a client, an organization and a linked account as the owner of the tables. With the `client_id` or
 * `organization_id` of an earlier tenant in `overrides`, inserts only the rows below it.
 */
export async function createTenant(
  sql: Sql,
  overrides: Partial<Tenant> & { org_id?: string; user_id?: string; connector?: string; emr_address?: string } = {},
): Promise<Tenant> {
  const client_id = overrides.client_id ?? newId();
  const organization_id = overrides.organization_id ?? newId();
  const account_id = overrides.account_id ?? newId();
  const reference_id = overrides.reference_id ?? newReference('access_token_reference_id');
  const empty = Buffer.alloc(0);
  await sql`
    INSERT INTO clients (id, public_id, name, mode)
    VALUES (${client_id}, ${newReference('test_client_id')}, 'Test client', 'test') ON CONFLICT DO NOTHING`;
  await sql`
    INSERT INTO organizations (id, client_id, org_id, connector, emr_address, timezone)
    VALUES (${organization_id}, ${client_id}, ${overrides.org_id ?? organization_id},
      ${overrides.connector ?? 'larkspur'}, ${overrides.emr_address ?? 'http://localhost:4100'}, 'America/New_York')
    ON CONFLICT DO NOTHING`;
  await sql`
    INSERT INTO accounts (id, client_id, organization_id, user_id, reference_id, token_hash, token_sealed, status,
      credentials_sealed, grant_sealed, emr_user_id, emr_user_name)
    VALUES (${account_id}, ${client_id}, ${organization_id}, ${overrides.user_id ?? account_id}, ${reference_id},
      ${randomBytes(32)}, ${empty}, 'active', ${empty}, ${empty}, 'u1', 'Test User')`;
  return { client_id, organization_id, account_id, reference_id };
}
