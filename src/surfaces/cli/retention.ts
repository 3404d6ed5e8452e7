import { ApiError, StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import {
  checkReportPeriod,
  formatDisposals,
  listDisposals,
  type ReportPeriod,
} from '../../product/erasure/disposals.ts';
import { hold_coverages, type LegalHold, liftHold, listHolds, placeHold } from '../../product/erasure/holds.ts';
import { type PeriodChanges, readPeriods, retained_kinds, setPeriods } from '../../product/erasure/periods.ts';
import { findHoldScope } from '../../product/erasure/scopes.ts';
import { command_line, findClient, withAudit } from './audit.ts';
import { type JsonOption, printJson, printResult, printTable } from './output.ts';
import { formatTime, zoneName } from './terminal.ts';

type ClientOption = JsonOption & { client?: string | undefined };

/** Prints the periods of a client, or sets those that are given as `events=14`; `default` returns to the setting's. */
export async function retentionCommand(
  config: Config,
  assignments: readonly string[],
  { client, json }: ClientOption,
): Promise<void> {
  const changes = parseChanges(assignments);
  const periods = await withAudit(config, async (db, audit) => {
    const client_id = await findClient(db, client);
    return db.tenant(client_id, async (tx) => {
      if (assignments.length === 0) return readPeriods(tx, config, client_id);
      const entry = { client_id, ...command_line, action: 'retention.set', outcome: 'changed', subject: client_id };
      await audit.recordInTransaction(tx, { ...entry, detail: { periods: changes } });
      return setPeriods(tx, config, client_id, { changes, changed_by: command_line.actor });
    });
  }).catch(rethrow);
  if (json) return printJson({ periods });
  const rows = periods.map(({ data, days, own_days, installation_days, days_max }) => [
    ...[data, `${days}`, own_days === null ? 'setting' : 'client', `${installation_days}`, `1 to ${days_max}`],
  ]);
  printTable(['data', 'days', 'from', 'setting', 'limits'], rows);
}

function parseChanges(assignments: readonly string[]): PeriodChanges {
  const changes: PeriodChanges = {};
  for (const assignment of assignments) {
    const [, name, days = ''] = /^([a-z_]+)=(default|\d{1,6})$/.exec(assignment) ?? [];
    const data = retained_kinds.find((each) => each === name);
    if (!data) {
      throw new StartFailure(
        `Write ${retained_kinds.join(', ')}, followed by =<days> or =default, not '${assignment}'.`,
      );
    }
    changes[data] = days === 'default' ? null : Number(days);
  }
  return changes;
}

type HoldOptions = ClientOption & {
  org?: string | undefined;
  patient?: string | undefined;
  reference?: string | undefined;
};

export async function listHoldsCommand(config: Config, { client, json }: ClientOption): Promise<void> {
  const legal_holds = await withAudit(config, async (db, audit) => {
    const client_id = await findClient(db, client);
    return db.tenant(client_id, async (tx) => {
      const holds = await listHolds(tx, client_id);
      const mrns = holds.flatMap(({ patient_mrn }) => (patient_mrn === null ? [] : [patient_mrn]));
      const entry = { client_id, ...command_line, action: 'legal_hold.list', outcome: 'listed', subject: client_id };
      await audit.recordInTransaction(tx, { ...entry, mrns });
      return holds;
    });
  });
  if (json) return printJson({ legal_holds });
  const rows = legal_holds.map((hold) => [
    ...[hold.id, hold.covers, hold.org_id ?? '–', hold.patient_id ?? '–', hold.reference],
    ...[formatTime(hold.placed_at), formatTime(hold.lifted_at)],
  ]);
  printTable(['id', 'covers', 'practice', 'patient', 'reference', `placed (${zoneName()})`, 'lifted'], rows);
}

/** Places a hold on a client, a practice or a patient: on the smallest thing that an option names. */
export async function placeHoldCommand(config: Config, options: HoldOptions): Promise<void> {
  const { client, org, patient, reference, json } = options;
  if (!reference?.trim())
    throw new StartFailure('--reference is required: what you call the case, without patient details.');
  if (patient !== undefined && org === undefined)
    throw new StartFailure('--patient needs --org, the practice of the patient.');
  const covers = hold_coverages[[org, patient].filter((each) => each !== undefined).length] ?? 'client';
  const legal_hold = await withAudit(config, async (db, audit) => {
    const client_id = await findClient(db, client);
    const scope = await findHoldScope({ db }, client_id, { covers, organization: org, patient });
    return db.tenant(client_id, async (tx) => {
      const hold = await placeHold(tx, scope, { reference, placed_by: command_line.actor });
      await audit.recordInTransaction(tx, describe('legal_hold.place', 'placed', client_id, hold));
      return hold;
    });
  }).catch(rethrow);
  printResult({ json }, { legal_hold }, `Legal hold ${legal_hold.id} is in force: nothing it covers is deleted.\n`);
}

export async function liftHoldCommand(config: Config, hold_id: string, { client, json }: ClientOption): Promise<void> {
  const legal_hold = await withAudit(config, async (db, audit) => {
    const client_id = await findClient(db, client);
    return db.tenant(client_id, async (tx) => {
      const hold = await liftHold(tx, { client_id, hold_id, lifted_by: command_line.actor });
      if (!hold) throw new StartFailure(`There is no legal hold ${hold_id} in force. See: chartwire holds list`);
      await audit.recordInTransaction(tx, describe('legal_hold.lift', 'lifted', client_id, hold));
      return hold;
    });
  });
  printResult(
    { json },
    { legal_hold },
    `Legal hold ${legal_hold.id} is lifted. What has expired is deleted within an hour.\n`,
  );
}

function describe(action: string, outcome: string, client_id: string, hold: LegalHold) {
  const { id: subject, covers, reference, org_id, patient_mrn } = hold;
  const mrns = patient_mrn === null ? [] : [patient_mrn];
  return { client_id, ...command_line, action, outcome, subject, mrns, detail: { covers, reference, org_id } };
}

/** Prints what was deleted, by day and rule. */
export async function disposalsCommand(
  config: Config,
  { client, format, ...period }: ReportPeriod & { client?: string; format: 'table' | 'csv' | 'json' },
): Promise<void> {
  const disposals = await withAudit(config, async (db) => {
    checkReportPeriod(period);
    const scope = client === undefined ? 'all' : [await findClient(db, client)];
    return listDisposals(db.system.pooled, scope, period);
  }).catch(rethrow);
  if (format === 'json') return printJson({ disposals });
  if (format === 'csv') return void process.stdout.write(formatDisposals(disposals));
  const rows = disposals.map(({ day, client_id, data, rule, days, rows }) => [
    ...[day, client_id, data, rule, days === null ? '–' : `${days}`, `${rows}`],
  ]);
  printTable(['day', 'client', 'data', 'rule', 'days', 'rows'], rows);
}

/** Errors of the product are the user's to fix here. */
function rethrow(error: unknown): never {
  if (error instanceof ApiError) throw new StartFailure(error.message, { cause: error });
  throw error;
}
