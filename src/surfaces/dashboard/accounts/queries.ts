import type { Capability } from '../../../emr/operations/operations.ts';
import { sizeText } from '../../../model/fields.ts';
import type { Account } from '../../../product/accounts/accounts.ts';
import { describedMrnRule } from '../../../product/accounts/capabilities.ts';
import { listCapabilities, requireConnector } from '../../../product/accounts/connectAccount.ts';
import type { Context } from '../../../product/context.ts';
import { listOutages } from '../../../product/jobs/outages.ts';
import { uploadDocument } from '../../../product/writes/documents/document.upload.ts';
import type { AccountRow, OrganizationRow } from './schema.ts';

/** A sync that stopped early has read only the first kinds; the others are looked up in the syncs before it. */
const syncs_looked_at = 10;
/** One a minute, and some that were requested. */
const syncs_per_hour_max = 100;

/** A client's organizations with their accounts and the last sync of each record kind, for the dashboard. */
export async function describeOrganizations(ctx: Context, client_id: string): Promise<OrganizationRow[]> {
  const [rows, outages] = await Promise.all([readOrganizations(ctx, client_id), listOutages(ctx.db, client_id)]);
  const all = new Set([...ctx.connectors.values()].flatMap((connector) => connector.capabilities));
  const operations = [...all].filter(isOperation);
  return rows.map(({ syncs: [sync = null, ...earlier_syncs], ...row }) => {
    const { display_name, limits, sampleIdentifiers, set_visit_types } = requireConnector(ctx, row.emr);
    return {
      ...row,
      sync,
      earlier_syncs,
      outage: outages.find(({ organization_id }) => organization_id === row.id) ?? null,
      emr_name: display_name,
      mrn: sampleIdentifiers ? row.mrn : null,
      measured_max: limits.measured_max ?? null,
      sets_visit_types: set_visit_types !== undefined,
      emr_requests_per_hour_max: ctx.config.sync_requests_per_hour,
      accounts: row.accounts.map((account) => describeAccount(ctx, row, account, operations)),
    };
  });
}

function readOrganizations(ctx: Context, client_id: string): Promise<StoredRow[]> {
  return ctx.db.search<StoredRow>(
    client_id,
    (sql) => sql`
      SELECT replace(organization.id::text, '-', '') AS id, org_id, connector AS emr, emr_address, timezone,
        json_build_object('mrn_system', mrn_system, 'mrn_type', mrn_type, 'parallel_writes_max', parallel_writes_max,
          'visit_types', visit_types) AS settings,
        (SELECT ${describedMrnRule(sql)} FROM organizations LEFT JOIN accounts
             ON accounts.organization_id = organizations.id AND accounts.status = 'active'
          WHERE organizations.id = organization.id ORDER BY accounts.linked_at DESC NULLS LAST LIMIT 1) AS mrn,
        (SELECT coalesce(json_agg(json_build_object('job_id', job.id,
                  'state', CASE WHEN job.parked THEN 'parked' ELSE job.state END,
                  'at', iso(coalesce(job.finished_at, job.started_at, job.created_at)),
                  'emr_requests', coalesce(job.emr_requests, 0)) ORDER BY job.id DESC), '[]')
           FROM (SELECT * FROM jobs WHERE organization_id = organization.id AND type = 'sync'
                  ORDER BY id DESC LIMIT ${syncs_looked_at}) AS job) AS syncs,
        (SELECT coalesce(sum(job.emr_requests), 0)::int
           FROM (SELECT emr_requests, started_at FROM jobs WHERE organization_id = organization.id AND type = 'sync'
                  ORDER BY id DESC LIMIT ${syncs_per_hour_max}) AS job
          WHERE job.started_at > now() - interval '1 hour') AS emr_requests_last_hour,
        (SELECT coalesce(json_agg(json_build_object('kind', kind.name, 'records', kind.stored, 'at', iso(kind.at),
                  'job_id', kind.job_id) ORDER BY kind.n), '[]')
           FROM (SELECT DISTINCT ON (step.name) step.name, (step.detail->>'stored')::int AS stored, step.at, step.job_id, step.n
                   FROM job_steps AS step
                  WHERE step.detail->>'stored' IS NOT NULL AND step.job_id IN (
                    SELECT job.id FROM jobs AS job WHERE job.organization_id = organization.id AND job.type = 'sync'
                     ORDER BY job.id DESC LIMIT ${syncs_looked_at})
                  ORDER BY step.name, step.n DESC) AS kind) AS kinds,
        (SELECT coalesce(json_agg(json_build_object('kind', pass.kind, 'stored', pass.held_stored,
                  'missing', pass.held_missing, 'at', iso(pass.held_at), 'confirmed', pass.removal_confirmed)
                  ORDER BY pass.kind), '[]')
           FROM sync_passes AS pass WHERE pass.organization_id = organization.id AND pass.held_at IS NOT NULL) AS held_removals,
        (SELECT coalesce(json_agg(json_build_object('id', replace(account.id::text, '-', ''),
            'user_id', account.user_id, 'reference_id', account.reference_id, 'status', account.status,
            'reason', account.status_reason, 'emr_user_name', account.emr_user_name,
            'linked_at', iso(account.linked_at), 'discovered', account.capabilities,
            'document_bytes_max', account.document_bytes_max,
            'measured', (SELECT json_build_object('now', parallel, 'reason', reason, 'at', iso(changed_at),
                'held_until', CASE WHEN held_until > now() THEN iso(held_until) END)
              FROM write_limits WHERE write_limits.account_id = account.id),
            'known', (SELECT coalesce(json_agg(json_build_object('capability', known.capability, 'state', known.state,
                'detail', known.detail, 'records', known.records, 'at', iso(known.at))), '[]')
              FROM account_capabilities AS known WHERE known.account_id = account.id),
            'parked_jobs', (SELECT count(*) FROM jobs WHERE jobs.account_id = account.id AND jobs.parked
              AND jobs.state = 'queued')) ORDER BY account.linked_at), '[]')
           FROM accounts AS account WHERE account.organization_id = organization.id) AS accounts
        FROM organizations AS organization ORDER BY organization.created_at, organization.id`,
  );
}

function describeAccount(
  ctx: Context,
  { emr, settings }: Pick<StoredRow, 'emr' | 'settings'>,
  { discovered, known, document_bytes_max, measured, ...account }: StoredAccountRow,
  operations: readonly Capability[],
): AccountRow {
  const { measured_max = null } = requireConnector(ctx, emr).limits;
  const capabilities = listCapabilities(ctx, { connector: emr, capabilities: discovered }).filter(isOperation);
  const max = settings.parallel_writes_max ?? measured_max;
  return {
    ...account,
    capabilities,
    evidence: withDocumentLimit(listEvidence(capabilities, known, account.linked_at), document_bytes_max),
    lacks: operations.filter((name) => !capabilities.includes(name)),
    parallel_writes: measured_max !== null && max !== null ? { ...(measured ?? not_measured), max } : null,
  };
}

type Measured = Omit<NonNullable<AccountRow['parallel_writes']>, 'max'>;
const not_measured: Measured = { now: 1, reason: 'start', at: null, held_until: null };

type EvidenceRow = AccountRow['evidence'][number];
type StoredAccountRow = Omit<AccountRow, 'capabilities' | 'lacks' | 'evidence' | 'parallel_writes'> & {
  discovered: Account['capabilities'];
  known: EvidenceRow[];
  document_bytes_max: number | null;
  measured: Measured | null;
};
type StoredRow = Omit<
  OrganizationRow,
  | 'accounts'
  | 'outage'
  | 'emr_name'
  | 'measured_max'
  | 'sets_visit_types'
  | 'emr_requests_per_hour_max'
  | 'sync'
  | 'earlier_syncs'
> & {
  syncs: OrganizationRow['earlier_syncs'];
  accounts: StoredAccountRow[];
};

/** What is known about each operation that is supported, or was until the server refused it, in the connector's order. */
function listEvidence(
  capabilities: readonly Capability[],
  stored: readonly EvidenceRow[],
  linked_at: string,
): EvidenceRow[] {
  const refused = stored.filter(({ capability, state }) => state === 'refused' && !capability.includes('.'));
  const offered = capabilities.map(
    (capability) =>
      stored.find((each) => each.capability === capability) ?? {
        capability,
        state: 'declared' as const,
        detail: null,
        records: null,
        at: linked_at,
      },
  );
  return [...offered, ...refused.filter(({ capability }) => !capabilities.some((name) => name === capability))];
}

/** The known limit belongs to what is known about uploads. */
function withDocumentLimit(evidence: EvidenceRow[], bytes_max: number | null): EvidenceRow[] {
  if (bytes_max === null) return evidence;
  const detail = `Up to ${sizeText(bytes_max)} per document.`;
  return evidence.map((each) =>
    each.capability === uploadDocument.stored_by && each.state !== 'refused' ? { ...each, detail } : each,
  );
}

/** The other capabilities are fields of an operation: `uploadDocument.is_high_priority`. */
function isOperation(name: Capability): boolean {
  return !name.includes('.');
}
