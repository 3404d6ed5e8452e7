import { adjudicate, money } from './claimPayments.ts';
import type { Company } from './companies.ts';
import { daysBetween, daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import type { Chance } from './random.ts';
import type { SeenVisit } from './schedule.ts';

/** Every 49th visit was billed twice: the first claim is void, the second replaces it. That makes 2,000 claims. */
export const BILLED_VISITS = 1960;
const VOIDED_EVERY = 49;

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
  /** Oldest first. */
  visits: SeenVisit[];
  patients: SeededPatient[];
  insurances: Coverage[];
  companies: Company[];
  providers: { providerId: string; displayName: string; npi: string }[];
}

/** Claims for the visits of the last 18 months, oldest first. Older claims are further along in their payment. */
export function claimRows(chance: Chance, now: Date, sources: ClaimSources) {
  const coverages = new Map<string, Coverage[]>();
  for (const coverage of sources.insurances.filter((insurance) => insurance.activeFlag === 'Y')) {
    coverages.set(coverage.patientId, [...(coverages.get(coverage.patientId) ?? []), coverage]);
  }
  const rows: ReturnType<typeof claim>[] = [];
  for (const [index, visit] of sources.visits.entries()) {
    const billed = billedVisit(chance, now, visit, { ...sources, coverages });
    const nextId = () => String(200001 + rows.length);
    if (index % VOIDED_EVERY !== Math.floor(VOIDED_EVERY / 2)) {
      rows.push(claim(chance, billed, nextId(), {}));
      continue;
    }
    const voided = nextId();
    const successor = String(Number(voided) + 1);
    rows.push(claim(chance, billed, voided, { successor }));
    rows.push(claim(chance, billed, successor, { voided }));
  }
  return rows;
}

type BilledVisit = NonNullable<ReturnType<typeof billedVisit>>;

function billedVisit(
  chance: Chance,
  now: Date,
  visit: SeenVisit,
  { patients, providers, companies, coverages }: ClaimSources & { coverages: ReadonlyMap<string, Coverage[]> },
) {
  return {
    now,
    age: daysBetween(visit.startsAt, usDay(now)),
    visit,
    patient: patients.find(({ patientId }) => patientId === visit.patientId) ?? (patients[0] as SeededPatient),
    provider: providers.find(({ providerId }) => providerId === visit.providerId),
    own: coverages.get(visit.patientId) ?? [],
    companies,
    icdCodes: visit.diagnoses.map(({ code }) => code),
    procedures: chance.sample(procedureCodes, 1 + chance.below(3)),
  };
}

/** `successor` is the claim that replaces a void one, `voided` the claim that this one replaces. */
function claim(chance: Chance, billed: BilledVisit, claimId: string, pair: { successor?: string; voided?: string }) {
  const { now, age, visit, patient, provider, own, companies, icdCodes, procedures } = billed;
  const { successor = null, voided = null } = pair;
  const serviceDate = usDay(now, -age);
  const claimDate = usDay(now, Math.min(-age + 1 + chance.below(3) + (voided === null ? 0 : 4), 0));
  const charge = procedures.reduce((sum, [, , fee]) => sum + fee, 0);
  const payer = own[0]?.companyName;
  const adjudicated = adjudicate(chance, { now, age, charge, claimId, payer, void: successor !== null });
  const createdAt = daysFrom(now, -age + 1);
  return {
    claimId,
    appointmentId: visit.appointmentId,
    serviceDate,
    claimDate,
    ...adjudicated.columns,
    claimType: 'Professional',
    patientId: patient.patientId,
    mrn: patient.mrn,
    patientName: `${patient.lastName}, ${patient.firstName}`,
    providerId: visit.providerId,
    providerName: provider?.displayName ?? '',
    icdCodes,
    billingNotes: voided === null ? null : 'Resubmitted with the corrected modifier.',
    insurances: own.map((coverage) => claimInsurance(patient, coverage, companies)),
    voidClaim: {
      voidToClaimId: successor,
      voidFromClaimId: voided,
      copyToClaimId: successor,
      copyFromClaimId: voided,
    },
    submissionHistory: {
      createdBy: 'Finley Ledgerton',
      entries: adjudicated.submitted
        ? [{ date: claimDate, method: 'Electronic', payer: payer ?? 'Self pay', result: 'Accepted' }]
        : [],
      autoClaimData: {
        autoCreated: chance.happens(0.8) ? 'Y' : 'N',
        batchNumber: adjudicated.submitted ? `B${5000 + Math.floor((Number(claimId) - 200001) / 40)}` : null,
      },
    },
    activityLog: [
      { date: claimDate, action: 'Created', category: 'Claim', notes: null, userName: 'Finley Ledgerton' },
      ...(successor === null ? [] : [voidedEntry(claimDate, successor)]),
      ...adjudicated.log,
    ],
    lineItems: procedures.map(([cptCode, description, fee], line) => ({
      lineItemId: `${claimId}-${line + 1}`,
      lineNumber: line + 1,
      cptCode,
      description,
      modifiers: voided !== null || chance.happens(0.15) ? ['25'] : [],
      units: 1,
      billedAmount: money(fee),
      allowedAmount: money(Math.round(fee * 0.7)),
      billedUnitFee: money(fee),
      icdPointers: icdCodes.slice(0, 1 + (line % 2)),
      placeOfService: '11',
      typeOfService: chance.happens(0.5) ? '1' : null,
      serviceDateStart: serviceDate,
      serviceDateEnd: serviceDate,
      renderingNpi: provider?.npi ?? null,
      orderingNpi: chance.happens(0.2) ? (provider?.npi ?? null) : null,
      referringNpi: chance.happens(0.2) ? '1888810003' : null,
    })),
    payments: adjudicated.payments,
    createdAt,
    lastModified: adjudicated.last_day === undefined ? createdAt : daysFrom(now, adjudicated.last_day),
  };
}

function voidedEntry(date: string, successor: string) {
  const notes = `Replaced by claim ${successor}.`;
  return { date, action: 'Voided', category: 'Claim', notes, userName: 'Finley Ledgerton' };
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
