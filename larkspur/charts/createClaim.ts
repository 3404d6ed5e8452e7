import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { insuranceCompanies } from '../practice/organizations.ts';
import { providers } from '../practice/providers.ts';
import { FREE_STATUSES } from '../practice/scheduling.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, getRecord } from '../records/recordKind.ts';
import { appointments } from './appointments.ts';
import { type Claim, claims } from './claims.ts';
import { listInsurances, type PatientInsurance, SUBSCRIBER_SELF } from './patientInsurances.ts';
import { patients } from './patients.ts';

type ClaimInsurance = Claim['insurances'][number];

/** Who creates the claim, when, and on which day at the practice. */
export interface Creation {
  at: Date;
  today: string;
  by: string;
}

/** Creates the claim of a visit: its service, the diagnoses and the patient's active insurances. A visit has one claim. */
export async function createClaim(sql: Query, appointmentId: string, creation: Creation): Promise<RecordChange> {
  // The lock makes concurrent requests for one visit wait for each other.
  const visit = await getRecord(sql, appointments, appointmentId, true);
  if (FREE_STATUSES.includes(visit.statusCode)) {
    throw new EmrError('RULE_BROKEN', 'The visit did not take place: it was canceled, missed or moved.');
  }
  const [present] = await sql<{ claimId: string }[]>`
    select claim_id from claims where appointment_id = ${appointmentId} and void_flag = 'N' limit 1`;
  if (present) throw new EmrError('ALREADY_EXISTS', `The visit has claim ${present.claimId} already.`);
  const patient = await getRecord(sql, patients, visit.patientId);
  const provider = await getRecord(sql, providers, visit.providerId);
  const active = (await listInsurances(sql, visit.patientId)).filter(({ activeFlag }) => activeFlag === 'Y');
  const subscriberName = `${patient.lastName}, ${patient.firstName}`;
  const insurances: ClaimInsurance[] = [];
  for (const insurance of active) insurances.push(await toClaimInsurance(sql, insurance, subscriberName));
  const [cptCode, description, fee] = services[visit.visitTypeCode] ?? office_visit;
  const serviceDate = visit.startsAt.slice(0, 10);
  const icdCodes = visit.diagnoses.map(({ code }) => code);
  const [row] = await sql<{ claimId: string }[]>`select nextval('claim_ids')::text as claim_id`;
  const claimId = row?.claimId ?? '';
  const claim = {
    claimId,
    appointmentId,
    serviceDate,
    claimDate: creation.today,
    patientId: patient.patientId,
    mrn: patient.mrn,
    patientName: subscriberName,
    providerId: provider.providerId,
    providerName: provider.displayName,
    totalCharge: fee,
    balance: fee,
    patientResponsibility: insurances.length === 0 ? fee : '0.00',
    icdCodes,
    insurances,
    balances: {
      invoiceAmount: fee,
      totalPayment: '0.00',
      netPayment: '0.00',
      balance: fee,
      patientBalance: insurances.length === 0 ? fee : '0.00',
      patientPayment: '0.00',
      patientResponsibility: insurances.length === 0 ? fee : '0.00',
      onPlan: 'N',
    },
    submissionHistory: { createdBy: creation.by, entries: [], autoClaimData: { autoCreated: 'N', batchNumber: null } },
    activityLog: [{ date: creation.today, action: 'Created', category: 'Claim', notes: null, userName: creation.by }],
    lineItems: [
      {
        lineItemId: `${claimId}-1`,
        lineNumber: 1,
        cptCode,
        description,
        modifiers: [],
        units: 1,
        billedAmount: fee,
        allowedAmount: fee,
        billedUnitFee: fee,
        icdPointers: icdCodes.slice(0, 4),
        placeOfService: visit.mode === 'OFFICE' ? '11' : '10',
        typeOfService: null,
        serviceDateStart: serviceDate,
        serviceDateEnd: serviceDate,
        renderingNpi: provider.npi,
        orderingNpi: null,
        referringNpi: null,
      },
    ],
  };
  return createRecord(sql, claims, claim, creation.at);
}

async function toClaimInsurance(
  sql: Query,
  insurance: PatientInsurance,
  subscriberName: string,
): Promise<ClaimInsurance> {
  const { companyId, priority } = insurance;
  const company = companyId === null ? undefined : await getRecord(sql, insuranceCompanies, companyId);
  return {
    insuranceId: insurance.insuranceId,
    name: insurance.companyName,
    insuranceType: 'Commercial',
    claimIndicator: priority === 1 ? 'P' : 'S',
    claimIndicatorDescription: priority === 1 ? 'Primary' : 'Secondary',
    sequenceNumber: String(priority),
    subscriberName,
    subscriberNumber: insurance.subscriberNumber,
    subscriberBirthDate: null,
    subscriberRelation: insurance.relationshipCode ?? SUBSCRIBER_SELF,
    groupName: null,
    groupNumber: insurance.groupNumber,
    providerNumber: null,
    paymentSource: 'F',
    assignBenefits: 'Y',
    address1: company?.address.line1 ?? '',
    address2: null,
    city: company?.address.city ?? '',
    state: company?.address.state ?? '',
    zip: company?.address.zip ?? '',
    medicaidId: null,
  };
}

type Service = [cptCode: string, description: string, fee: string];

const office_visit: Service = ['99213', 'Office visit, established, low', '130.00'];

/** The practice's fee schedule, by visit type. */
const services: Record<string, Service> = {
  NP: ['99203', 'Office visit, new patient', '175.00'],
  PE: ['99395', 'Preventive visit', '210.00'],
  NV: ['99211', 'Office visit, nurse', '45.00'],
  PRO: ['99214', 'Office visit, established, moderate', '185.00'],
};
