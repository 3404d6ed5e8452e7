import { adjudicate, money } from './claimPayments.ts';
import type { Company } from './companies.ts';
import { daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import type { Chance } from './random.ts';
import { conditions } from './schedule.ts';

const CLAIMS = 3000;
const DAYS_BACK = 540;

interface Coverage {
  insuranceId: string;
  patientId: string;
  companyName: string;
  subscriberNumber: string;
  groupNumber: string | null;
  relationshipCode: string | null;
  priority: number;
  activeFlag: string;
}

export interface ClaimSources {
  patients: SeededPatient[];
  insurances: Coverage[];
  companies: Company[];
  providers: { providerId: string; displayName: string; npi: string }[];
}

/** Claims of the last 18 months, oldest first. Older claims are further along in their payment. */
export function claimRows(chance: Chance, now: Date, sources: ClaimSources) {
  const coverages = new Map<string, Coverage[]>();
  for (const coverage of sources.insurances.filter((insurance) => insurance.activeFlag === 'Y')) {
    coverages.set(coverage.patientId, [...(coverages.get(coverage.patientId) ?? []), coverage]);
  }
  return Array.from({ length: CLAIMS }, (_, index) => claim(chance, now, index, sources, coverages));
}

function claim(chance: Chance, now: Date, index: number, sources: ClaimSources, coverages: Map<string, Coverage[]>) {
  const { patients, providers, companies } = sources;
  const age = DAYS_BACK - Math.floor((index * DAYS_BACK) / CLAIMS);
  const patient = patients[index % 60 === 0 ? 0 : chance.below(patients.length)] ?? (patients[0] as SeededPatient);
  const provider = providers[chance.below(providers.length)] ?? { providerId: '', displayName: '', npi: '' };
  const own = coverages.get(patient.patientId) ?? [];
  const claimId = String(200001 + index);
  const serviceDate = usDay(now, -age);
  const claimDate = usDay(now, Math.min(-age + 1 + chance.below(3), 0));
  const icdCodes = chance.sample(conditions, 1 + chance.below(3)).map(([code]) => code);
  const procedures = chance.sample(procedureCodes, 1 + chance.below(3));
  const charge = procedures.reduce((sum, [, , fee]) => sum + fee, 0);
  const adjudicated = adjudicate(chance, { now, age, charge, claimId, payer: own[0]?.companyName });
  const createdAt = daysFrom(now, -age + 1);
  return {
    claimId,
    appointmentId: String(400001 + index),
    serviceDate,
    claimDate,
    ...adjudicated.columns,
    claimType: 'Professional',
    patientId: patient.patientId,
    mrn: patient.mrn,
    patientName: `${patient.lastName}, ${patient.firstName}`,
    providerId: provider.providerId,
    providerName: provider.displayName,
    icdCodes,
    billingNotes: chance.happens(0.1) ? 'Resubmitted with the corrected modifier.' : null,
    insurances: own.map((coverage) => claimInsurance(patient, coverage, companies)),
    voidClaim: {
      voidToClaimId: null,
      voidFromClaimId: null,
      copyToClaimId: null,
      copyFromClaimId: index > 0 && chance.happens(0.02) ? String(200000 + index) : null,
    },
    submissionHistory: {
      createdBy: 'Finley Ledgerton',
      entries: adjudicated.submitted
        ? [{ date: claimDate, method: 'Electronic', payer: own[0]?.companyName ?? 'Self pay', result: 'Accepted' }]
        : [],
      autoClaimData: {
        autoCreated: chance.happens(0.8) ? 'Y' : 'N',
        batchNumber: adjudicated.submitted ? `B${5000 + Math.floor(index / 40)}` : null,
      },
    },
    activityLog: [
      { date: claimDate, action: 'Created', category: 'Claim', notes: null, userName: 'Finley Ledgerton' },
      ...adjudicated.log,
    ],
    lineItems: procedures.map(([cptCode, description, fee], line) => ({
      lineItemId: `${claimId}-${line + 1}`,
      lineNumber: line + 1,
      cptCode,
      description,
      modifiers: chance.happens(0.15) ? ['25'] : [],
      units: 1,
      billedAmount: money(fee),
      allowedAmount: money(Math.round(fee * 0.7)),
      billedUnitFee: money(fee),
      icdPointers: icdCodes.slice(0, 1 + (line % 2)),
      placeOfService: '11',
      typeOfService: chance.happens(0.5) ? '1' : null,
      serviceDateStart: serviceDate,
      serviceDateEnd: serviceDate,
      renderingNpi: provider.npi,
      orderingNpi: chance.happens(0.2) ? provider.npi : null,
      referringNpi: chance.happens(0.2) ? '1888810003' : null,
    })),
    payments: adjudicated.payments,
    createdAt,
    lastModified: adjudicated.last_day === undefined ? createdAt : daysFrom(now, adjudicated.last_day),
  };
}

function claimInsurance(patient: SeededPatient, coverage: Coverage, companies: Company[]) {
  const company = companies.find(({ name }) => name === coverage.companyName);
  const medicaid = coverage.companyName === 'Fixture Medicaid';
  return {
    insuranceId: coverage.insuranceId,
    name: coverage.companyName,
    insuranceType: medicaid ? 'Medicaid' : coverage.companyName === 'Demo Medicare' ? 'Medicare' : 'Commercial',
    claimIndicator: coverage.priority === 1 ? 'P' : 'S',
    claimIndicatorDescription: coverage.priority === 1 ? 'Primary' : 'Secondary',
    sequenceNumber: String(coverage.priority),
    subscriberName: `${patient.lastName}, ${patient.firstName}`,
    subscriberNumber: coverage.subscriberNumber,
    subscriberBirthDate: patient.birthDate,
    subscriberRelation: coverage.relationshipCode ?? '01',
    groupName: coverage.groupNumber === null ? null : 'Example Employers',
    groupNumber: coverage.groupNumber,
    providerNumber: null,
    paymentSource: medicaid ? 'D' : 'F',
    assignBenefits: 'Y',
    address1: company?.address.line1 ?? '',
    address2: null,
    city: company?.address.city ?? '',
    state: company?.address.state ?? '',
    zip: company?.address.zip ?? '',
    medicaidId: medicaid ? `MD${coverage.subscriberNumber}` : null,
  };
}

/** Fees are in cents. */
const procedureCodes: [cptCode: string, description: string, fee: number][] = [
  ['99213', 'Office visit, established, low', 13000],
  ['99214', 'Office visit, established, moderate', 18500],
  ['99203', 'Office visit, new patient', 17500],
  ['99395', 'Preventive visit', 21000],
  ['93000', 'Electrocardiogram', 6000],
  ['36415', 'Venipuncture', 1500],
  ['85025', 'Complete blood count', 2500],
  ['80053', 'Comprehensive metabolic panel', 4050],
  ['90471', 'Immunization administration', 3025],
  ['96372', 'Injection', 4575],
];
