import type { SeededCheck } from './coverage.ts';
import { daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import { type Chance, seededChance } from './random.ts';
import type { SeenVisit } from './schedule.ts';

interface Coverage {
  checks: SeededCheck[];
  insurances: {
    insuranceId: string;
    subscriberNumber: string;
    planBegins: string;
    relationshipCode: string | null;
    guarantorId: string | null;
  }[];
  guarantors: { guarantorId: string; firstName: string; lastName: string }[];
}

/** What insurers answered to the checks: benefits of active plans, a reason for the others. */
export function eligibilityRows(now: Date, patients: SeededPatient[], visits: SeenVisit[], coverage: Coverage) {
  const chance = seededChance(20_260_206);
  const { checks, insurances, guarantors } = coverage;
  return checks.map((check, index) => {
    const insurance = insurances.find(({ insuranceId }) => insuranceId === check.insuranceId);
    const guarantor = guarantors.find(({ guarantorId }) => guarantorId === insurance?.guarantorId);
    const subscriber = guarantor ?? patients.find(({ patientId }) => patientId === check.patientId);
    const visit = visits.findLast(({ patientId }) => patientId === check.patientId);
    const failed = index % 25 === 24;
    const statusCode = failed ? 'ERR' : check.statusCode;
    const active = statusCode === 'ACT';
    const tier = chance.pick(['Bronze', 'Silver', 'Gold']);
    return {
      ...check,
      statusCode,
      statusMessage: failed ? 'AAA 42: Unable to respond at current time' : active ? null : 'Coverage terminated',
      serviceDate: usDay(check.requestedAt),
      respondedAt: daysFrom(check.requestedAt, 1 / 1440),
      appointmentId: visit?.appointmentId ?? null,
      providerId: visit?.providerId ?? null,
      planName: failed ? null : `${tier} PPO`,
      subscriberName: subscriber ? `${subscriber.lastName}, ${subscriber.firstName}` : null,
      subscriberNumber: insurance?.subscriberNumber ?? null,
      relationshipCode: insurance?.relationshipCode ?? null,
      planBegins: failed ? null : (insurance?.planBegins ?? null),
      planEnds: failed ? null : active ? usDay(now, 200) : usDay(check.requestedAt, -10),
      benefits: active ? benefitLines(chance) : [],
    };
  });
}

function benefitLines(chance: Chance) {
  const deductible = chance.pick(['500.00', '1500.00', '3000.00']);
  const pocket = chance.pick(['4000.00', '6500.00', '8700.00']);
  const copay = chance.pick(['20.00', '25.00', '40.00']);
  const lines: Omit<Line, 'lineNumber' | 'segment'>[] = [
    { ...blank, typeCode: '1', typeName: 'Active Coverage', levelCode: 'IND', serviceTypeCodes: ['30'] },
    ...(['Y', 'N'] as const).flatMap((networkCode) => [
      { ...blank, ...deductibleType, networkCode, amount: networkCode === 'Y' ? deductible : twice(deductible) },
      { ...blank, ...pocketType, networkCode, amount: networkCode === 'Y' ? pocket : twice(pocket) },
    ]),
    { ...blank, ...deductibleType, levelCode: 'FAM', networkCode: 'Y', amount: twice(deductible) },
    { ...blank, ...deductibleType, networkCode: 'Y', timePeriod: 'Remaining', amount: half(deductible) },
    {
      ...blank,
      typeCode: 'B',
      typeName: 'Co-Payment',
      levelCode: 'IND',
      serviceTypeCodes: ['98'],
      timePeriod: 'Visit',
      amount: copay,
      networkCode: 'Y',
    },
    {
      ...blank,
      typeCode: 'A',
      typeName: 'Co-Insurance',
      levelCode: 'IND',
      percent: 20,
      networkCode: 'Y',
      messages: ['AFTER DEDUCTIBLE'],
    },
  ];
  return lines.map((line, index) => ({ lineNumber: index + 1, ...line, segment: toSegment(line) }));
}

interface Line {
  lineNumber: number;
  typeCode: string;
  typeName: string;
  levelCode: 'IND' | 'FAM' | null;
  serviceTypeCodes: string[];
  insuranceType: string | null;
  timePeriod: string | null;
  amount: string | null;
  percent: number | null;
  networkCode: 'Y' | 'N' | 'W' | 'U' | null;
  messages: string[];
  segment: string;
}

const blank = {
  levelCode: null,
  serviceTypeCodes: ['30'],
  insuranceType: 'PR',
  timePeriod: null,
  amount: null,
  percent: null,
  networkCode: null,
  messages: [],
};
const deductibleType = {
  typeCode: 'C',
  typeName: 'Deductible',
  levelCode: 'IND',
  timePeriod: 'Calendar Year',
} as const;
const pocketType = {
  typeCode: 'G',
  typeName: 'Out of Pocket (Stop Loss)',
  levelCode: 'IND',
  timePeriod: 'Calendar Year',
} as const;

/** The EB segment, without its trailing empty elements. */
function toSegment(line: Omit<Line, 'lineNumber' | 'segment'>): string {
  const period = { 'Calendar Year': '23', Remaining: '29', Visit: '27' }[line.timePeriod ?? ''] ?? '';
  const elements = [
    'EB',
    line.typeCode,
    line.levelCode ?? '',
    line.serviceTypeCodes.join('^'),
    line.insuranceType ?? '',
    '',
    period,
    line.amount ?? '',
    line.percent === null ? '' : String(line.percent / 100),
    '',
    '',
    '',
    line.networkCode ?? '',
  ];
  return `${elements.join('*').replace(/\*+$/, '')}~`;
}

function twice(amount: string): string {
  return (Number(amount) * 2).toFixed(2);
}

function half(amount: string): string {
  return (Number(amount) / 2).toFixed(2);
}
