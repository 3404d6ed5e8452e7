import { erasableTables } from '../../src/product/erasure/tables.ts';
import { apiAs, newClient, type OtherClient } from '../api/support.ts';
import type { Api } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

export type Tenant = OtherClient & { org_id: string; organization_id: string; linked: Api };

let tenants = 0;
/** A client with one practice, synced. Its `org_id` contains a word that is nowhere else. */
export async function newTenant(fixture: TestSandbox, word: string): Promise<Tenant> {
  const client = await newClient(fixture);
  const org_id = `${word}-practice-${++tenants}`;
  const access_token = await client.api.link({ user_id: `${word}-user`, org_id, staff: 8 });
  const [row] = await until('the first sync', async () => {
    const rows = await fixture.owner<{ id: string }[]>`
      SELECT id FROM organizations WHERE org_id = ${org_id} AND synced_at IS NOT NULL`;
    return rows.length > 0 && rows;
  });
  const { client_id, client_secret } = client;
  const linked = apiAs(fixture, { client_id, client_secret, access_token });
  return { ...client, org_id, organization_id: row?.id ?? '', linked };
}

/** Creates a patient with a telephone encounter, all of it containing the word, and returns the MRN. */
export async function createPatient(api: Api, word: string): Promise<{ mrn: string; id: string }> {
  const hook = { webhook_url: 'http://127.0.0.1:9/hook' };
  await api.call('POST', '/v1/webhook', { body: hook, headers: { access_token: null } });
  const body = { first_name: 'Ida', last_name: word, dob: '1980-02-03', sex: 'female' };
  const created = await api.call('POST', '/v1/patients', { body });
  const { data } = await api.untilEvent(created.body.job_id);
  const call = await api.callIn({ patient_mrn: data.mrn, message: `Asked for ${word}`, reference: `ref ${word}` });
  await api.untilEvent(call.body.job_id);
  const fetched = await api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn: data.mrn } });
  await api.untilEvent(fetched.body.job_id);
  return { mrn: data.mrn, id: data.patient_id };
}

/** The tables with a row of the client that contains the text. Other clients have the same EMR, and its patients. */
export async function tablesWith(fixture: TestSandbox, tenant: Tenant, text: string): Promise<string[]> {
  const tables = [...erasableTables().map(([table]) => table), 'audit_records'];
  const matches: string[] = [];
  for (const table of tables) {
    const rows = await fixture.owner`SELECT FROM ${fixture.owner(table)} AS row
      WHERE ${fixture.owner(table === 'clients' ? 'id' : 'client_id')} = ${tenant.id}
        AND position(lower(${text}) IN lower(row::text)) > 0 LIMIT 1`;
    if (rows.length > 0) matches.push(table);
  }
  return matches;
}
