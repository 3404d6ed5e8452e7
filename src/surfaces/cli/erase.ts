import { ApiError, StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { loadConnectors } from '../../emr/outside/outsideConnectors.ts';
import type { Database } from '../../platform/db/database.ts';
import { createLookups } from '../../platform/db/lookups.ts';
import { createNotifications } from '../../platform/db/notifications.ts';
import { emrRules } from '../../platform/security/addresses.ts';
import { createOutbound } from '../../platform/security/outbound.ts';
import { createLog } from '../../platform/telemetry/log.ts';
import { type EraseContext, type ErasureCounts, erase, planErasure } from '../../product/erasure/erase.ts';
import { findOrganizationScope, findPatientScope } from '../../product/erasure/scopes.ts';
import type { ErasureScope } from '../../product/erasure/tables.ts';
import { listChartMrns } from '../../product/records/mergedCharts.ts';
import { command_line, findClient, withAudit, withoutSecondPerson } from './audit.ts';
import { type JsonOption, printResult } from './output.ts';

type Values = JsonOption & {
  client?: string | undefined;
  org?: string | undefined;
  patient?: string | undefined;
  yes?: boolean | undefined;
};

/**
 * Erases a client, a practice or a patient. Without --yes it only counts the rows. Works whether or not the service is
 * running, but only the service can finish jobs that are still queued.
 */
export async function eraseCommand(config: Config, what: string | undefined, values: Values): Promise<void> {
  const subject = readSubject(what, values);
  const { connectors } = await loadConnectors(config);
  const outbound = createOutbound(emrRules(config));
  try {
    await withAudit(config, async (db, audit, keys) => {
      const scope = await findScope(db, subject, values);
      const plan = await planErasure({ db }, scope);
      if (scope.of === 'patient' && scope.patient.id === null && Object.keys(plan.rows).length === 0) {
        throw new StartFailure('--patient must be the ID or the MRN of a patient in this practice.');
      }
      if (!values.yes) {
        const { rows, linked_accounts, unfinished_jobs } = plan;
        const waits = `linked accounts: ${linked_accounts}, unfinished jobs: ${unfinished_jobs}`;
        return printResult(
          values,
          { erased: false, rows, linked_accounts, unfinished_jobs },
          `${table(rows)}\n${waits}\n\nNothing was erased. To erase this, add --yes.\n`,
        );
      }
      const ctx: EraseContext = {
        db,
        audit,
        connectors,
        emr_outbound: outbound,
        ...keys,
        log: createLog(config.log_level),
        lookups: createLookups(),
        notifications: createNotifications(db, () => {}),
      };
      const mrns = await listMrns(db, scope);
      const rows = await erase(ctx, scope, (tx, erased) =>
        audit.recordInTransaction(tx, {
          client_id: scope.client_id,
          ...command_line,
          action: `erase.${scope.of}`,
          outcome: 'erased',
          ...describeSubject(scope),
          mrns,
          detail: { rows: erased, ...withoutSecondPerson(config, 'erasure') },
        }),
      );
      printResult(values, { erased: true, rows }, `${table(rows)}\n\nErased. This is recorded in the audit log.\n`);
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const hint = error.code === 'erasure_blocked' ? ' If the service is not running, start it.' : '';
    throw new StartFailure(`${error.message}${hint}`, { cause: error });
  } finally {
    await outbound.close();
  }
}

/** What can be erased, from the largest to the smallest, and the option that names it. */
const subjects = [
  { name: 'client', option: 'client' },
  { name: 'practice', option: 'org' },
  { name: 'patient', option: 'patient' },
] as const;
type Subject = (typeof subjects)[number]['name'];

/** An option that names something smaller would be ignored, and more erased than was meant. */
function readSubject(what: string | undefined, values: Values): Subject {
  const subject = subjects.find(({ name }) => name === what);
  if (!subject)
    throw new StartFailure('Specify what to erase: client, practice or patient. See: chartwire erase --help');
  const smaller = subjects.slice(subjects.indexOf(subject) + 1);
  const unused = smaller.find(({ option }) => values[option] !== undefined);
  if (unused) throw new StartFailure(`--${unused.option} is not an option of: chartwire erase ${subject.name}`);
  return subject.name;
}

async function findScope(db: Database, subject: Subject, values: Values): Promise<ErasureScope> {
  const { org, patient } = values;
  const client_id = await findClient(db, values.client);
  if (subject === 'client') return { of: 'client', client_id };
  const practice = await findOrganizationScope({ db }, client_id, org ?? '');
  if (!practice) throw new StartFailure('--org must be the org_id of a practice of this client.');
  if (subject === 'practice') return practice;
  if (!patient) throw new StartFailure('--patient must be the ID or the MRN of a patient in this practice.');
  const { organization_id } = practice;
  return findPatientScope({ db }, { client_id, organization_id }, patient);
}

/** Of all charts of a patient: which of them were merged is deleted too, and the accounting of disclosures needs them. */
async function listMrns(db: Database, scope: ErasureScope): Promise<string[]> {
  if (scope.of !== 'patient' || scope.patient.mrn === null) return [];
  return listChartMrns(db, scope, scope.patient.mrn);
}

function describeSubject(scope: ErasureScope): { subject?: string } {
  if (scope.of === 'client') return { subject: scope.client_id };
  if (scope.of === 'organization') return { subject: scope.organization_id };
  const { id } = scope.patient;
  return id ? { subject: id } : {};
}

function table(rows: ErasureCounts): string {
  const entries = Object.entries(rows);
  if (entries.length === 0) return 'No rows.';
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, count]) => `${name.padEnd(width)}  ${count}`).join('\n');
}
