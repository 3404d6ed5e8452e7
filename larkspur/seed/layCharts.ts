import { copiesOf, hasCharts, markCharts, markCopies } from '../control/control.ts';
import { insertMany, updateMany } from '../database/insertMany.ts';
import type { Query } from '../database/open.ts';
import { claimRows } from './claims.ts';
import { codeRows, visitStatusRows, visitTypeRows } from './codeLists.ts';
import { companyRows, referringRows } from './companies.ts';
import { coverageRows } from './coverage.ts';
import { usDay } from './days.ts';
import { documentRows } from './documents.ts';
import { orderRows } from './orders.ts';
import { providerRows } from './providers.ts';
import { seededChance } from './random.ts';
import { scheduleRows } from './schedule.ts';
import { readSeededPatients } from './seededPatients.ts';
import { alertRows, balanceRows, particularRows, previousAddressRows } from './standing.ts';

/**
 * Everything that came with the full charts. Laid apart from the practice, for the patients who are there: a database
 * that had a practice before there were charts gets them at its next start.
 */
export async function layCharts(sql: Query, now: Date): Promise<void> {
  if (await hasCharts(sql)) return;
  await sql`set local datestyle = 'ISO, MDY'`; // the seed is written in Larkspur's own dates
  const patients = await readSeededPatients(sql);
  const companies = companyRows(now);
  const coverage = coverageRows(seededChance(20_260_201), now, patients, companies);
  const chance = seededChance(20_260_203);
  const papers = documentRows(chance, now, patients);
  await insertMany(sql, 'settings', [{ settingId: 'requiredPatientFields', value: [] }]);
  await insertMany(sql, 'codes', codeRows());
  await insertMany(sql, 'visit_types', visitTypeRows());
  await insertMany(sql, 'visit_statuses', visitStatusRows());
  await insertMany(sql, 'insurance_companies', companies);
  await insertMany(sql, 'referring_providers', referringRows(chance));
  await updateMany(sql, 'patients', 'patientId', particularRows(chance, patients));
  await insertMany(sql, 'guarantors', coverage.guarantors);
  await insertMany(sql, 'patient_insurances', coverage.insurances);
  await insertMany(sql, 'eligibility_checks', coverage.checks);
  await insertMany(sql, 'balances', balanceRows(chance, patients));
  await insertMany(sql, 'alerts', alertRows(chance, now, patients));
  await insertMany(sql, 'previous_addresses', previousAddressRows(now, patients));
  await insertMany(sql, 'orders', orderRows(chance, now, patients));
  await insertMany(sql, 'folders', papers.folders);
  await insertMany(sql, 'documents', papers.documents);
  let laid: ReturnType<typeof scheduleRows> | undefined;
  const schedule = () => {
    laid ??= scheduleRows(seededChance(20_260_202), now, patients);
    return laid;
  };
  const billing = { patients, companies, insurances: coverage.insurances, providers: providerRows(now) };
  await layThousands(sql, now, [
    ['blocks', () => schedule().blocks],
    ['appointments', () => schedule().appointments],
    ['claims', () => claimRows(seededChance(20_260_204), now, billing)],
  ]);
  await sql`
    update patients set responsible_party_code = relationship_code, responsible_guarantor_id = guarantor_id
    from guarantors where guarantors.patient_id = patients.patient_id`;
  for (const [sequence, last] of sequences) await sql`select setval(${sequence}, ${last})`;
  await markCharts(sql, usDay(now));
}

/**
 * Reading thousands of rows out of JSON is what takes time; copying them does not. So they are kept aside as they were
 * laid, and a reset on the same day copies them back.
 */
async function layThousands(sql: Query, now: Date, tables: [table: string, rows: () => object[]][]): Promise<void> {
  const again = (await copiesOf(sql)) === usDay(now);
  for (const [table, rows] of tables) {
    const copy = sql(`seeded_${table}`);
    if (again) await sql`insert into ${sql(table)} select * from ${copy}`;
    else {
      await insertMany(sql, table, rows());
      await sql`delete from ${copy}`;
      await sql`insert into ${copy} select * from ${sql(table)}`;
    }
  }
  await markCopies(sql, usDay(now));
}

/** As for the practice: every range is wider than the seed will ever fill. */
const sequences: [sequence: string, last: number][] = [
  ['insurance_company_ids', 399],
  ['referring_ids', 8999],
  ['block_ids', 69999],
  ['guarantor_ids', 84999],
  ['insurance_ids', 89999],
  ['eligibility_check_ids', 94999],
  ['document_ids', 96999],
  ['previous_address_ids', 99999],
  ['order_ids', 199999],
  ['claim_ids', 299999],
  ['appointment_ids', 599999],
];
