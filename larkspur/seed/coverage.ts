import type { Company } from './companies.ts';
import { daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import type { Chance } from './random.ts';

/** The primary insurances named in the patients' rows, some secondary and inactive ones, guarantors and checks. */
export function coverageRows(chance: Chance, now: Date, patients: SeededPatient[], companies: Company[]) {
  const insured = patients.filter((patient) => patient.primaryInsuranceName !== null);
  const coverages = insured.map((patient, index) =>
    createCoverage(chance, now, companies, { patient, first: index === 0 }),
  );
  const guarantors = coverages
    .flatMap((coverage) => coverage.guarantor ?? [])
    .map((guarantor, index) => ({ guarantorId: String(80001 + index), ...guarantor }));
  const payers = new Map(guarantors.map((guarantor) => [guarantor.patientId, guarantor]));
  const insurances = coverages
    .flatMap((coverage) => coverage.insurances)
    .map((insurance, index) => {
      const guarantor = insurance.relationshipCode === '01' ? undefined : payers.get(insurance.patientId);
      return {
        insuranceId: String(85001 + index),
        ...insurance,
        relationshipCode: guarantor || chance.happens(0.9) ? insurance.relationshipCode : null,
        guarantorId: guarantor?.guarantorId ?? null,
        guarantorIsPatient: guarantor ? 'N' : 'Y',
      };
    });
  return { guarantors, insurances, checks: checkRows(chance, now, insurances) };
}

/** The first patient is the subscriber and has two insurances. */
function createCoverage(
  chance: Chance,
  now: Date,
  companies: Company[],
  { patient, first }: { patient: SeededPatient; first: boolean },
) {
  const child = now.getUTCFullYear() - Number(patient.birthDate.slice(6)) < 18;
  const dependent = !first && (child || chance.happens(0.12));
  const company = companies.find(({ name }) => name === patient.primaryInsuranceName) ?? companies[0];
  const policy = (insurer: Company | undefined, priority: number, subscriberNumber: string, activeFlag: string) => ({
    patientId: patient.patientId,
    priority,
    companyId: insurer?.companyId ?? null,
    companyName: insurer?.name ?? '',
    payerId: insurer?.payerId ?? null,
    subscriberNumber,
    groupNumber: chance.happens(0.7) ? `GRP${1000 + chance.below(9000)}` : null,
    planBegins: usDay(now, -chance.below(900) - 30),
    copayment: chance.happens(0.8) ? chance.pick(['10.00', '20.00', '25.00', '40.00']) : null,
    relationshipCode: !dependent || priority > 1 ? '01' : child ? '19' : '02',
    activeFlag,
  });
  const number = () => `TST${100000 + chance.below(900000)}`;
  const another = () => companies[5 + chance.below(10)];
  return {
    insurances: [
      policy(company, 1, patient.primarySubscriberNumber ?? '', 'Y'),
      ...(first || chance.happens(0.25) ? [policy(another(), 2, number(), 'Y')] : []),
      ...(chance.happens(0.1) ? [policy(another(), 1, number(), 'N')] : []),
    ],
    guarantor: dependent ? createGuarantor(chance, now, patient, child) : undefined,
  };
}

function createGuarantor(chance: Chance, now: Date, patient: SeededPatient, child: boolean) {
  return {
    patientId: patient.patientId,
    firstName: chance.pick(['Robin', 'Morgan', 'Terry', 'Jules', 'Sidney']),
    middleName: null,
    lastName: patient.lastName,
    birthDate: usDay(now, -(30 + chance.below(30)) * 365),
    sexCode: chance.pick(['F', 'M']),
    relationshipCode: child ? '18' : '2',
    guarantorIsPatient: 'N',
    phone: `518-555-01${String(chance.below(100)).padStart(2, '0')}`,
    address: patient.address,
  };
}

export interface SeededCheck {
  checkId: string;
  patientId: string;
  insuranceId: string;
  companyName: string;
  statusCode: string;
  requestedAt: Date;
  requestedBy: string;
}

interface Insurance {
  insuranceId: string;
  patientId: string;
  companyName: string;
  activeFlag: string;
}

function checkRows(chance: Chance, now: Date, insurances: Insurance[]): SeededCheck[] {
  return insurances
    .filter(({ activeFlag }, index) => activeFlag === 'Y' && (index === 0 || chance.happens(0.3)))
    .map(({ insuranceId, patientId, companyName }, index) => ({
      checkId: String(90001 + index),
      patientId,
      insuranceId,
      companyName,
      statusCode: chance.happens(0.9) ? 'ACT' : 'INA',
      requestedAt: daysFrom(now, -1 - chance.below(60)),
      requestedBy: 'Avery Deskwell',
    }));
}
