import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { findCompanyByName, insuranceCompanies } from '../practice/organizations.ts';
import { todayAtPractice } from '../practice/practice.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, getRecord, requireActive, updateRecord } from '../records/recordKind.ts';
import { getGuarantor } from './guarantors.ts';
import {
  listInsurances,
  type PatientInsurance,
  patientInsurances,
  SUBSCRIBER_SELF,
  updatePrimaryInsurance,
} from './patientInsurances.ts';

/** The fields of an insurance. Omitted fields get the default on creation and keep their value on an update. */
export interface InsuranceInput {
  companyId?: string | null;
  companyName?: string | null;
  subscriberNumber?: string;
  groupNumber?: string | null;
  priority?: 1 | 2 | 3 | null;
  planBegins?: string | null;
  planEnds?: string | null;
  copayment?: string | null;
  relationshipCode?: string | null;
  guarantorId?: string | null;
  activeFlag?: 'Y' | 'N';
}

export async function addInsurance(
  sql: Query,
  patientId: string,
  input: InsuranceInput,
  at: Date,
): Promise<RecordChange> {
  const { priority, planBegins, subscriberNumber, groupNumber = null, copayment = null } = input;
  const added = await createRecord(
    sql,
    patientInsurances,
    {
      patientId,
      ...(await companyColumns(sql, input)),
      ...(await subscriberColumns(sql, patientId, input.relationshipCode ?? null, input.guarantorId ?? null)),
      subscriberNumber,
      groupNumber,
      copayment,
      priority: priority ?? (await freePriority(sql, patientId)),
      planBegins: planBegins ?? (await todayAtPractice(sql, at)),
    },
    at,
  );
  await updatePrimaryInsurance(sql, patientId, at);
  return added;
}

export async function updateInsurance(
  sql: Query,
  insurance: PatientInsurance,
  input: InsuranceInput,
  at: Date,
): Promise<RecordChange> {
  const { companyId, companyName, relationshipCode, guarantorId, priority, planBegins, ...columns } = input;
  const subscriber =
    relationshipCode === undefined && guarantorId === undefined
      ? {}
      : await updatedSubscriber(sql, insurance, relationshipCode, guarantorId);
  const company = companyId && companyId !== insurance.companyId ? await newCompanyColumns(sql, companyId) : {};
  const values = {
    ...columns,
    ...company,
    ...subscriber,
    ...(priority ? { priority } : {}),
    ...(planBegins === undefined ? {} : { planBegins }),
  };
  checkPlanDates({ ...insurance, ...values });
  const updated = await updateRecord(sql, patientInsurances, insurance.insuranceId, { values, at });
  await updatePrimaryInsurance(sql, insurance.patientId, at);
  return updated;
}

/** Locks the chart before one of its insurances: a swap changes several, and two of them could deadlock. */
export async function lockInsurance(sql: Query, insuranceId: string): Promise<PatientInsurance> {
  await sql`select from patients where patient_id = (
    select patient_id from patient_insurances where insurance_id = ${insuranceId}) for no key update`;
  return getRecord(sql, patientInsurances, insuranceId, true);
}

/** Gives the insurances in force that have a priority the one of this insurance, which takes theirs with its update. */
export async function giveUpPriority(
  sql: Query,
  insurance: PatientInsurance,
  priority: 1 | 2 | 3,
  at: Date,
): Promise<RecordChange[]> {
  const holders = (await listInsurances(sql, insurance.patientId)).filter(
    (each) => each.inForceFlag === 'Y' && each.priority === priority && each.insuranceId !== insurance.insuranceId,
  );
  const changes: RecordChange[] = [];
  for (const { insuranceId } of insurance.priority === priority ? [] : holders) {
    const values = { priority: insurance.priority };
    changes.push({
      ...(await updateRecord(sql, patientInsurances, insuranceId, { values, at })),
      record: 'swapped insurance',
    });
  }
  return changes;
}

function checkPlanDates({ planBegins, planEnds }: Pick<PatientInsurance, 'planBegins' | 'planEnds'>): void {
  const sortable = (day: string) => day.slice(6) + day.slice(0, 5);
  if (planBegins === null || planEnds === null || sortable(planBegins) <= sortable(planEnds)) return;
  throw new EmrError('RULE_BROKEN', 'A plan cannot end before it begins.');
}

/** A company that is not in the practice's list is stored by name only. */
async function companyColumns(sql: Query, { companyId, companyName }: InsuranceInput) {
  if (companyId) {
    await requireActive(sql, insuranceCompanies, companyId);
    const { name, payerId } = await getRecord(sql, insuranceCompanies, companyId);
    return { companyId, companyName: name, payerId };
  }
  if (!companyName) throw new EmrError('RULE_BROKEN', 'An insurance needs a companyId or a companyName.');
  const company = await findCompanyByName(sql, companyName);
  return {
    companyId: company?.companyId ?? null,
    companyName: company?.name ?? companyName,
    payerId: company?.payerId ?? null,
  };
}

async function subscriberColumns(
  sql: Query,
  patientId: string,
  relationshipCode: string | null,
  guarantorId: string | null,
) {
  if (guarantorId === null) {
    if (!isSelf(relationshipCode)) {
      throw new EmrError('RULE_BROKEN', 'A subscriber other than the patient needs a guarantorId or a guarantor.');
    }
    return { relationshipCode, guarantorId, guarantorIsPatient: 'Y' };
  }
  const { guarantorIsPatient } = await getGuarantor(sql, patientId, guarantorId);
  return { relationshipCode, guarantorId, guarantorIsPatient };
}

function isSelf(relationshipCode: string | null): boolean {
  return relationshipCode === null || relationshipCode === SUBSCRIBER_SELF;
}

async function freePriority(sql: Query, patientId: string): Promise<number> {
  const used = (await listInsurances(sql, patientId))
    .filter((insurance) => insurance.inForceFlag === 'Y')
    .map((insurance) => insurance.priority);
  return [1, 2].find((priority) => !used.includes(priority as 1 | 2)) ?? 3;
}

/** Setting the patient as subscriber removes the guarantor. Any other relationship keeps the current one. */
function updatedSubscriber(
  sql: Query,
  insurance: PatientInsurance,
  relationship: string | null | undefined,
  guarantor: string | null | undefined,
) {
  const code = relationship === undefined ? insurance.relationshipCode : relationship;
  const current = isSelf(code) && relationship !== undefined ? null : insurance.guarantorId;
  return subscriberColumns(sql, insurance.patientId, code, guarantor === undefined ? current : guarantor);
}

/** Existing insurances can only be moved to a company with a carrier id. */
async function newCompanyColumns(sql: Query, companyId: string) {
  const columns = await companyColumns(sql, { companyId });
  const { carrierId } = await getRecord(sql, insuranceCompanies, companyId);
  if (carrierId) return columns;
  throw new EmrError('RULE_BROKEN', `The insurance company with id '${companyId}' has no carrier id.`);
}
