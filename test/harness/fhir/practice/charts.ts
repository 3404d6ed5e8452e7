import type * as fhir from 'fhir/r4.js';
import { type Coded, dayFrom, pickReference, type SeedContext, times } from './sizes.ts';

/** The contents of charts: medications, visits, alerts, orders with results, documents. */
export function makeCharts(seed: SeedContext): fhir.FhirResource[] {
  const { size } = seed;
  return [
    {
      resourceType: 'Medication',
      id: 'med-1',
      code: { coding: [{ system: rxnorm, code: '860975', display: 'metformin 500 MG Oral Tablet' }] },
    },
    ...times(size.patients, (index) => makeChart(seed, index + 1)).flat(),
    ...times(size.orders, (index) => makeOrder(seed, index)).flat(),
    ...times(size.documents, (index) => makeDocument(seed, index)).flat(),
    makeReferral(seed),
  ];
}

function makeChart(seed: SeedContext, number: number): fhir.FhirResource[] {
  const { chance, size } = seed;
  const subject = { reference: `Patient/pat-${number}` };
  const requester = { reference: `Practitioner/${pickReference(seed, 'prac', size.doctors)}` };
  const day = dayFrom(seed, -chance.below(600) - 2);
  const medications = times(number === 1 ? 3 : chance.below(4), (index): fhir.MedicationRequest => {
    const id = `rx-${number}-${index + 1}`;
    if (index === 2) {
      // Everything R4 requires, and the medication as a separate record.
      return {
        resourceType: 'MedicationRequest',
        id,
        status: 'active',
        intent: 'order',
        subject,
        medicationReference: { reference: 'Medication/med-1' },
      };
    }
    return {
      resourceType: 'MedicationRequest',
      id,
      status: chance.pick(['active', 'active', 'completed', 'stopped']),
      intent: 'order',
      subject,
      medicationCodeableConcept: { coding: [{ system: rxnorm, ...chance.pick(drugs) }] },
      authoredOn: day,
      requester,
      dosageInstruction: [
        { text: 'One tablet once a day', timing: { repeat: { frequency: 1, period: 1, periodUnit: 'd' } } },
      ],
      dispenseRequest: { numberOfRepeatsAllowed: chance.below(4) },
      note: [{ text: 'Synthetic prescription' }],
    };
  });
  const visits = times(number % 40 === 12 ? 1 : 2, (index): fhir.Encounter => {
    const bare: fhir.Encounter = {
      resourceType: 'Encounter',
      id: `enc-${number}-${index + 1}`,
      status: 'finished',
      class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
      subject,
    };
    if (number % 40 === 12) return bare;
    return {
      ...bare,
      type: [{ text: 'Follow-up' }],
      participant: [{ individual: requester }],
      period: { start: `${day}T10:00:00-05:00`, end: `${day}T10:30:00-05:00` },
      reasonCode: [{ text: 'Synthetic reason' }],
      location: [{ location: { reference: 'Location/loc-1' } }],
    };
  });
  const alert: fhir.Flag = {
    resourceType: 'Flag',
    id: `flag-${number}`,
    status: 'active',
    category: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/flag-category', code: 'safety' }] }],
    code: { text: 'Synthetic alert: uses a hearing aid' },
    subject,
  };
  return [...medications, ...visits, ...(number % 8 === 1 ? [alert] : [])];
}

function makeOrder(seed: SeedContext, index: number): fhir.FhirResource[] {
  const { chance, size } = seed;
  const id = `order-${index + 1}`;
  const subject = { reference: `Patient/${pickReference(seed, 'pat', size.patients)}` };
  if (index % 10 === 9) return [{ resourceType: 'ServiceRequest', id, status: 'active', intent: 'order', subject }];
  const code = { coding: [{ system: loinc, ...chance.pick(tests) }] };
  const order: fhir.ServiceRequest = {
    resourceType: 'ServiceRequest',
    id,
    status: 'completed',
    intent: 'order',
    priority: chance.pick(['routine', 'routine', 'urgent']),
    code,
    subject,
    authoredOn: dayFrom(seed, -1 - chance.below(300)),
    requester: { reference: `Practitioner/${pickReference(seed, 'prac', size.doctors)}` },
  };
  if (index % 2 === 1) return [{ ...order, status: 'active' }];
  const result: fhir.Observation = {
    resourceType: 'Observation',
    id: `obs-${index + 1}`,
    status: 'final',
    code,
    subject,
    valueQuantity: { value: 4 + chance.below(30) / 10, unit: '10*3/uL' },
  };
  const report: fhir.DiagnosticReport = {
    resourceType: 'DiagnosticReport',
    id: `report-${index + 1}`,
    status: 'final',
    code,
    subject,
    basedOn: [{ reference: `ServiceRequest/${id}` }],
    effectiveDateTime: `${order.authoredOn}T15:00:00-05:00`,
    issued: `${order.authoredOn}T16:00:00-05:00`,
    result: [{ reference: `Observation/obs-${index + 1}` }],
    conclusion: 'Within the synthetic range.',
  };
  return [order, result, report];
}

/** Of the first patient, by staff. */
function makeReferral(seed: SeedContext): fhir.ServiceRequest {
  return {
    resourceType: 'ServiceRequest',
    id: 'referral-1',
    status: 'active',
    intent: 'order',
    category: [{ coding: [{ system: 'http://snomed.info/sct', code: '3457005', display: 'Patient referral' }] }],
    priority: 'routine',
    code: { text: 'Cardiology' },
    subject: { reference: 'Patient/pat-1' },
    authoredOn: dayFrom(seed, -30),
    requester: { reference: 'Practitioner/prac-1' },
    reasonCode: [{ coding: [{ system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'I10' }], text: 'Hypertension' }],
  };
}

/** Half of them embedded, half as a separate Binary, as servers do. */
function makeDocument(seed: SeedContext, index: number): fhir.FhirResource[] {
  const { size } = seed;
  const data = Buffer.from(`Synthetic document ${index + 1}`).toString('base64');
  const attached: fhir.Attachment =
    index % 2 === 0
      ? { contentType: 'text/plain', data }
      : { contentType: 'text/plain', url: `Binary/bin-${index + 1}` };
  const document: fhir.DocumentReference = {
    resourceType: 'DocumentReference',
    id: `doc-${index + 1}`,
    status: 'current',
    subject: { reference: `Patient/${pickReference(seed, 'pat', size.patients)}` },
    content: [{ attachment: attached }],
  };
  if (index % 2 === 0) return [document];
  return [{ resourceType: 'Binary', id: `bin-${index + 1}`, contentType: 'text/plain', data }, document];
}

const rxnorm = 'http://www.nlm.nih.gov/research/umls/rxnorm';
const loinc = 'http://loinc.org';
const drugs: Coded = [
  { code: '314076', display: 'lisinopril 10 MG Oral Tablet' },
  { code: '617312', display: 'atorvastatin 20 MG Oral Tablet' },
  { code: '966221', display: 'levothyroxine sodium 0.05 MG Oral Tablet' },
];
const tests: Coded = [
  { code: '58410-2', display: 'CBC panel - Blood by Automated count' },
  { code: '4548-4', display: 'Hemoglobin A1c/Hemoglobin.total in Blood' },
  { code: '57698-3', display: 'Lipid panel with direct LDL - Serum or Plasma' },
];
