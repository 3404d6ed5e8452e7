import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { Change } from '../machine/history.ts';
import { changeRecord, createRecord, getRecord } from '../machine/recordKind.ts';
import { getActive } from '../practice/getActive.ts';
import { findCompanyByName, insuranceCompanies } from '../practice/insuranceCompanies.ts';
import { type Guarantor, guarantors } from './guarantors.ts';
import {
  listInsurances,
  type PatientInsurance,
  patientInsurances,
  SUBSCRIBER_SELF,
  showPrimaryInsurance,
} from './patientInsurances.ts';

/** An insurance as it is typed in; left out: the default, or on a change the value there is. */
export interface InsuranceWords {
  companyId?: string | null;
  companyName?: string | null;
  subscriberNumber?: string;
  groupNumber?: string | null;
  priority?: 1 | 2 | 3 | null;
  planBegins?: string | null;
  copayment?: string | null;
  relationshipCode?: string | null;
  guarantorId?: string | null;
  activeFlag?: 'Y' | 'N';
}

export async function addInsurance(
  sql: Query,
  patientId: string,
  words: InsuranceWords,
  at: Date,
  today: string,
): Promise<Change> {
  const { priority, planBegins, subscriberNumber, groupNumber = null, copayment = null } = words;
  const added = await createRecord(
    sql,
    patientInsurances,
    {
      patientId,
      ...(await companyColumns(sql, words)),
      ...(await subscriberColumns(sql, patientId, words.relationshipCode ?? null, words.guarantorId ?? null)),
      subscriberNumber,
      groupNumber,
      copayment,
      priority: priority ?? (await freePriority(sql, patientId)),
      planBegins: planBegins ?? today,
    },
    at,
  );
  await showPrimaryInsurance(sql, patientId, at);
  return added;
}

export async function changeInsurance(
  sql: Query,
  insurance: PatientInsurance,
  words: InsuranceWords,
  at: Date,
): Promise<Change> {
  const { companyId, companyName, relationshipCode, guarantorId, priority, planBegins, ...plain } = words;
  const subscriber =
    relationshipCode === undefined && guarantorId === undefined
      ? {}
      : await changedSubscriber(sql, insurance, relationshipCode, guarantorId);
  const company = companyId && companyId !== insurance.companyId ? await carrierColumns(sql, companyId) : {};
  const values = {
    ...plain,
    ...company,
    ...subscriber,
    ...(priority ? { priority } : {}),
    ...(planBegins ? { planBegins } : {}),
  };
  const changed = await changeRecord(sql, patientInsurances, insurance.insuranceId, values, at);
  await showPrimaryInsurance(sql, insurance.patientId, at);
  return changed;
}

/** A company that is not on the practice's list is kept by its name. */
async function companyColumns(sql: Query, { companyId, companyName }: InsuranceWords) {
  if (companyId) {
    await getActive(sql, insuranceCompanies, companyId);
    const { name, payerId } = await getRecord(sql, insuranceCompanies, companyId);
    return { companyId, companyName: name, payerId };
  }
  if (!companyName) throw new EmrError('REFUSED', 'An insurance needs a companyId or a companyName.');
  const company = await findCompanyByName(sql, companyName);
  return {
    companyId: company?.companyId ?? null,
    companyName: company?.name ?? companyName,
    payerId: company?.payerId ?? null,
  };
}

async function carrierColumns(sql: Query, companyId: string) {
  const columns = await companyColumns(sql, { companyId });
  const { carrierId } = await getRecord(sql, insuranceCompanies, companyId);
  if (carrierId) return columns;
  throw new EmrError('REFUSED', `The insurance company with id '${companyId}' has no carrier id.`);
}

/** Back to the patient as subscriber, the guarantor goes; any other relationship keeps the one there is. */
function changedSubscriber(
  sql: Query,
  insurance: PatientInsurance,
  relationship: string | null | undefined,
  guarantor: string | null | undefined,
) {
  const code = relationship === undefined ? insurance.relationshipCode : relationship;
  const kept = isSelf(code) && relationship !== undefined ? null : insurance.guarantorId;
  return subscriberColumns(sql, insurance.patientId, code, guarantor === undefined ? kept : guarantor);
}

async function subscriberColumns(
  sql: Query,
  patientId: string,
  relationshipCode: string | null,
  guarantorId: string | null,
) {
  if (guarantorId === null) {
    if (!isSelf(relationshipCode)) {
      throw new EmrError('REFUSED', 'A subscriber other than the patient needs a guarantorId or a guarantor.');
    }
    return { relationshipCode, guarantorId, guarantorIsPatient: 'Y' };
  }
  const { guarantorIsPatient } = await getGuarantor(sql, patientId, guarantorId);
  return { relationshipCode, guarantorId, guarantorIsPatient };
}

export async function getGuarantor(sql: Query, patientId: string, guarantorId: string): Promise<Guarantor> {
  const guarantor = await getRecord(sql, guarantors, guarantorId);
  if (guarantor.patientId === patientId) return guarantor;
  throw new EmrError('NOT_FOUND', `No guarantor with id '${guarantorId}'.`); // of another chart: as good as none
}

function isSelf(relationshipCode: string | null): boolean {
  return relationshipCode === null || relationshipCode === SUBSCRIBER_SELF;
}

async function freePriority(sql: Query, patientId: string): Promise<number> {
  const taken = (await listInsurances(sql, patientId))
    .filter((one) => one.activeFlag === 'Y')
    .map((one) => one.priority);
  return [1, 2].find((priority) => !taken.includes(priority as 1 | 2)) ?? 3;
}
