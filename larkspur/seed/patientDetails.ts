import { usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import type { Chance } from './random.ts';

export function balanceRows(chance: Chance, patients: SeededPatient[]) {
  return patients.map(({ patientId }, index) => {
    const cents = index === 0 ? 4250 : chance.happens(0.5) ? 0 : chance.below(60_000);
    const account = cents + (chance.happens(0.4) ? chance.below(90_000) : 0);
    return { patientId, patientBalance: (cents / 100).toFixed(2), accountBalance: (account / 100).toFixed(2) };
  });
}

/** The latest payment of every fourth patient, after which the patient owes what the balance says. */
export function paymentRows(now: Date, balances: { patientId: string; patientBalance: string }[]) {
  return balances
    .filter((_, index) => index % 4 === 0)
    .map(({ patientId, patientBalance }, index) => {
      const [methodCode, methodName] = paymentMethods[index % paymentMethods.length] ?? ['CASH', 'Cash'];
      return {
        paymentId: String(270_001 + index),
        patientId,
        depositDate: usDay(now, -5 - index),
        amount: `${20 + (index % 5) * 5}.00`,
        methodCode,
        methodName,
        referenceNumber: `RCPT-${1001 + index}`,
        facilityId: '11',
        notes: null,
        balanceAfter: patientBalance,
        createdAt: new Date(now.getTime() - (5 + index) * 86_400_000),
        createdBy: 'Blair Counterby',
      };
    });
}

const paymentMethods = [
  ['CC', 'Credit card'],
  ['CHK', 'Check'],
  ['CASH', 'Cash'],
] as const;

export function alertRows(chance: Chance, now: Date, patients: SeededPatient[]) {
  return patients
    .filter((_, index) => index === 0 || chance.happens(0.35))
    .map(({ patientId }, index) => {
      const billing = index > 0 && chance.happens(0.4);
      return {
        patientId,
        billingAlert: billing ? 'Y' : 'N',
        billingNotes: billing ? 'Payment plan agreed; do not send to collection.' : null,
        globalAlerts: chance.sample(globalAlerts, index === 0 ? 2 : chance.below(3)).map((alert) => ({
          ...alert,
          expiryDate: chance.happens(0.5) ? usDay(now, 30 + chance.below(300)) : null,
        })),
      };
    });
}

/** Further columns of the patients' rows. */
export function demographicRows(chance: Chance, patients: SeededPatient[]) {
  return patients.map((patient, index) => {
    const referred = index === 0 || chance.happens(0.4);
    return {
      patientId: patient.patientId,
      selfPayFlag: patient.primaryInsuranceName === null ? 'Y' : 'N',
      releaseOfInfoFlag: index === 0 || chance.happens(0.95) ? 'Y' : 'N',
      rxConsentFlag: index === 0 || chance.happens(0.9) ? 'Y' : 'N',
      referringId: referred ? '8001' : null,
      referringFirstName: referred ? 'Sasha' : null,
      referringLastName: referred ? 'Referrell' : null,
      pcpId: '501',
      pcpFirstName: 'Harper',
      pcpLastName: 'Samplewell',
      renderingProviderId: String(501 + chance.below(8)),
      defaultFacilityId: String(11 + chance.below(3)),
      emergencyContact: chance.happens(0.7)
        ? { firstName: 'Robin', lastName: patient.lastName, relation: 'Spouse', phone: '518-555-0177' }
        : null,
    };
  });
}

export function previousAddressRows(now: Date, patients: SeededPatient[]) {
  return patients
    .filter((_, index) => index % 9 === 0)
    .map(({ patientId, address }, index) => ({
      previousAddressId: String(97001 + index),
      patientId,
      address: { ...address, line1: `${12 + index} Former Street`, line2: null },
      replacedAt: new Date(now.getTime() - (200 + index) * 86_400_000),
      replacedBy: 'Blair Counterby',
    }));
}

const globalAlerts = [
  { name: 'Latex allergy', alertType: 'Clinical', notes: 'Use nitrile gloves.', priority: 'High' },
  {
    name: 'Interpreter needed',
    alertType: 'Communication',
    notes: 'Book one with the appointment.',
    priority: 'Medium',
  },
  { name: 'Hard of hearing', alertType: 'Communication', notes: null, priority: 'Medium' },
  { name: 'Fall risk', alertType: 'Clinical', notes: 'Walks with a frame.', priority: 'High' },
];
