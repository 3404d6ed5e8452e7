import { seedCopyDate, setSeedCopyDate } from '../control/control.ts';
import { insertMany, updateMany } from '../database/insertMany.ts';
import type { Query } from '../database/open.ts';
import { BILLED_VISITS, claimRows } from './claims.ts';
import { codeRows, visitStatusRows, visitTypeRows } from './codeLists.ts';
import { companyRows, referringRows } from './companies.ts';
import { coverageRows } from './coverage.ts';
import { usDay } from './days.ts';
import { documentRows } from './documents.ts';
import { eligibilityRows } from './eligibility.ts';
import { orderRows } from './orders.ts';
import { alertRows, balanceRows, demographicRows, paymentRows, previousAddressRows } from './patientDetails.ts';
import { readSeededPatients } from './patients.ts';
import { providerRows } from './providers.ts';
import { seededChance } from './random.ts';
import { referralRows } from './referrals.ts';
import { scheduleRows } from './schedule.ts';

/** Seeds schedule, billing and chart records for the patients of the practice. */
export async function seedCharts(sql: Query, now: Date): Promise<void> {
  await sql`set local datestyle = 'ISO, MDY'`; // the rows contain dates as MM/DD/YYYY
  const patients = await readSeededPatients(sql);
  const companies = companyRows(now);
  const coverage = coverageRows(seededChance(20_260_201), now, patients, companies);
  const chance = seededChance(20_260_203);
  const documents = documentRows(chance, now, patients);
  await insertMany(sql, 'settings', [{ settingId: 'requiredPatientFields', value: [] }]);
  await insertMany(sql, 'codes', codeRows());
  await insertMany(sql, 'visit_types', visitTypeRows());
  await insertMany(sql, 'visit_statuses', visitStatusRows());
  await insertMany(sql, 'insurance_companies', companies);
  await insertMany(sql, 'referring_providers', referringRows(chance));
  await updateMany(sql, 'patients', 'patientId', demographicRows(chance, patients));
  await insertMany(sql, 'guarantors', coverage.guarantors);
  await insertMany(sql, 'patient_insurances', coverage.insurances);
  const balances = balanceRows(chance, patients);
  await insertMany(sql, 'balances', balances);
  await insertMany(sql, 'payments', paymentRows(now, balances));
  await insertMany(sql, 'alerts', alertRows(chance, now, patients));
  await insertMany(sql, 'previous_addresses', previousAddressRows(now, patients));
  const schedule = scheduleRows(now, patients, BILLED_VISITS);
  await insertMany(sql, 'eligibility_checks', eligibilityRows(now, patients, schedule.seen, coverage));
  await insertMany(sql, 'orders', orderRows(chance, now, schedule.seen, patients[0]?.patientId));
  await insertMany(sql, 'referrals', referralRows(now, patients));
  await insertMany(sql, 'folders', documents.folders);
  await insertMany(sql, 'documents', documents.documents);
  const billing = {
    visits: schedule.seen,
    patients,
    companies,
    insurances: coverage.insurances,
    providers: providerRows(now),
  };
  await insertLargeTables(sql, now, [
    ['blocks', () => schedule.blocks],
    ['appointments', () => schedule.appointments],
    ['claims', () => claimRows(seededChance(20_260_204), now, billing)],
  ]);
  await sql`
    update patients set responsible_party_code = relationship_code, responsible_guarantor_id = guarantor_id
    from guarantors where guarantors.patient_id = patients.patient_id`;
  for (const [sequence, last] of sequences) await sql`select setval(${sequence}, ${last})`;
}

/**
 * Inserting thousands of rows from JSON is slow, copying them is fast. The `seeded_…` tables store copies, and a reset
 * on the same day restores the rows from them.
 */
async function insertLargeTables(
  sql: Query,
  now: Date,
  tables: [table: string, rows: () => object[]][],
): Promise<void> {
  const hasCopies = (await seedCopyDate(sql)) === usDay(now);
  for (const [table, rows] of tables) {
    const copy = sql(`seeded_${table}`);
    if (hasCopies) await sql`insert into ${sql(table)} select * from ${copy}`;
    else {
      await insertMany(sql, table, rows());
      await sql`delete from ${copy}`;
      await sql`insert into ${copy} select * from ${sql(table)}`;
    }
  }
  await setSeedCopyDate(sql, usDay(now));
}

/** As in seedPractice.ts. */
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
  ['referral_ids', 750100],
  ['claim_ids', 299999],
  ['payment_ids', 279999],
  ['appointment_ids', 599999],
];
