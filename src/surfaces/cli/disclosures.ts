import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { StartFailure } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Database } from '../../platform/db/database.ts';
import { parseDay } from '../../platform/time/days.ts';
import { checkIsNew } from '../../product/backup/createBackup.ts';
import {
  type AccountedPatient,
  type AccountingFormat,
  type Disclosure,
  defaultPeriod,
  exportAccounting,
  findAccountedPatient,
  readAccounting,
  verifyAccounting,
} from '../../product/disclosures/accounting.ts';
import type { DisclosureFilters } from '../../product/disclosures/disclosures.ts';
import { findOrganizationScope } from '../../product/erasure/scopes.ts';
import { command_line, printExport, withAudit, writeExport } from './audit.ts';
import { printLine, printProgress, printTable } from './output.ts';
import { formatUtc } from './terminal.ts';

type Values = {
  client?: string | undefined;
  org?: string | undefined;
  patient?: string | undefined;
  account?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  format: AccountingFormat | 'table';
  output?: string | undefined;
  force?: boolean | undefined;
  verify?: boolean | undefined;
};

/**
 * Lists who received data about a patient. Works whether or not the service is running. That someone asked is recorded
 * before anything is printed.
 */
export async function disclosuresCommand(config: Config, values: Values): Promise<void> {
  const { format, output, force = false } = values;
  if (output !== undefined && format === 'table') throw new StartFailure('--output needs --format csv or json.');
  const file = output === undefined ? undefined : resolve(output);
  if (file !== undefined && !force) await checkIsNew(file, ' To replace it, add --force.');
  const period = defaultPeriod();
  const from = readDay('--since', values.since) ?? period.from;
  const to = readDay('--until', values.until) ?? period.to;
  const mrn = await readMrn(values.patient);
  await withAudit(config, async (db, audit, { system_keys }) => {
    const ctx = { db, system_keys };
    const client_id = await findClientOrErased(db, values.client);
    const organization_id = await findPractice(db, client_id, values.org);
    const account_id = await findAccount(db, client_id, values.account);
    const patient = await findAccountedPatient(ctx, client_id, mrn, organization_id);
    const filters = { from, to, account_id };
    const detail = { from, to, format, ...(values.org !== undefined && { org: organization_id }) };
    const entry = { client_id, ...command_line, action: 'audit.disclosures', outcome: 'ok', detail };
    await audit.record({ ...entry, mrns: patient.mrns });
    if (format === 'table') await printDisclosures(ctx, patient, filters);
    else {
      const parts = exportAccounting(ctx, patient, { filters, format });
      const rows = file === undefined ? await printExport(parts) : await writeExport(file, parts, force);
      printProgress(file === undefined ? `Rows: ${rows}.` : `${file}: ${rows} rows.`);
    }
    printProgress(describePatient(patient));
    if (values.verify) await verify(ctx, patient);
  });
}

type CommandContext = Parameters<typeof findAccountedPatient>[0];

const page_size = 500;

async function printDisclosures(
  ctx: CommandContext,
  patient: AccountedPatient,
  filters: DisclosureFilters,
): Promise<void> {
  let before: string | undefined;
  do {
    const { rows, next, collected } = await readAccounting(ctx, patient, { filters, before, page_size });
    if (!collected.complete) printProgress(incomplete(collected.until));
    if (rows.length === 0) printLine('No disclosures in this period.');
    else printTable(['first (UTC)', 'last (UTC)', 'count', 'kind', 'recipient', 'what', 'where'], rows.map(toCells));
    before = next ?? undefined;
  } while (before !== undefined);
}

function toCells(row: Disclosure): string[] {
  const { first_at, last_at, count, kind, recipient, account, action, event_type, addresses, destination } = row;
  const unconfirmed = row.confirmed ? '' : ' (not confirmed)';
  return [
    ...[formatUtc(first_at), formatUtc(last_at), String(count), kind],
    account === null ? recipient : `${recipient}, ${account}`,
    event_type ?? action,
    `${destination ?? (addresses.join(' ') || '–')}${unconfirmed}`,
  ];
}

function incomplete(until: string | null): string {
  return until === null
    ? 'The audit log has not been collected yet. Run the command again when a worker has run for a while.'
    : `Collected up to ${formatUtc(until)} UTC. Newer records follow when a worker has collected them.`;
}

function describePatient({ standing, merged_charts, organization_id }: AccountedPatient): string {
  const charts = merged_charts === 0 ? '' : ` Charts merged with this one: ${merged_charts}; they are included.`;
  const texts = {
    stored: 'The patient is among the cached records.',
    erased: 'The patient was erased. The audit log and this list remain; they contain no health data.',
    unknown:
      organization_id === undefined
        ? 'No practice was named: with --org, merged charts are included, and other practices’ patients with this MRN are not.'
        : 'No patient with this MRN is among the cached records.',
  };
  return texts[standing] + charts;
}

async function verify(ctx: CommandContext, patient: AccountedPatient): Promise<void> {
  const { records, days } = await verifyAccounting(ctx, patient);
  if (days.length === 0) return printProgress(`Verified: ${records} disclosures in the audit log, all of them listed.`);
  printProgress(`The list differs from the audit log on: ${days.join(', ')}. The audit log is the evidence.`);
  process.exitCode = 1;
}

function readDay(option: string, text: string | undefined): string | undefined {
  if (text === undefined || (text.length === 10 && parseDay(text) !== undefined)) return text;
  throw new StartFailure(`${option} must be a day, such as 2031-03-03.`);
}

/** From the standard input, so that it is neither in the shell's history nor in the list of processes. */
async function readMrn(patient: string | undefined): Promise<string> {
  let mrn = patient;
  if (patient === '-') {
    for await (const line of createInterface({ input: process.stdin })) {
      mrn = line.trim();
      break;
    }
  }
  if (mrn && mrn !== '-') return mrn;
  throw new StartFailure('--patient must be the MRN of a patient, or - to read it from the standard input.');
}

/** Of a client that was erased, only the id in the audit log is left. */
async function findClientOrErased(db: Database, client: string | undefined): Promise<string> {
  const id = parseId(client ?? '') ?? null;
  const [row] = await db.system.pooled<{ id: string }[]>`
    SELECT id FROM clients WHERE public_id = ${client ?? ''}
    UNION ALL (SELECT client_id FROM audit_records WHERE client_id = ${id}::uuid LIMIT 1) LIMIT 1`;
  if (row) return row.id;
  throw new StartFailure('--client must be the client_id of a client, or of an erased one its ID in the audit log.');
}

async function findPractice(db: Database, client_id: string, org: string | undefined): Promise<string | undefined> {
  if (org === undefined) return undefined;
  const practice = await findOrganizationScope({ db }, client_id, org);
  if (practice) return practice.organization_id;
  throw new StartFailure(
    '--org must be the org_id of a practice of this client. Without it, erased practices count too.',
  );
}

async function findAccount(db: Database, client_id: string, account: string | undefined): Promise<string | undefined> {
  if (account === undefined) return undefined;
  const [row] = await db.system.pooled<{ id: string }[]>`
    SELECT id FROM accounts WHERE client_id = ${client_id} AND reference_id = ${account}`;
  if (row) return row.id;
  throw new StartFailure('--account must be the access_token_reference_id of a linked account of this client.');
}
