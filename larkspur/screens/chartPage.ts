import type { Alerts } from '../charts/alerts.ts';
import type { Balances } from '../charts/balances.ts';
import type { Document } from '../charts/documents.ts';
import type { Encounter } from '../charts/encounters.ts';
import type { Guarantor } from '../charts/guarantors.ts';
import type { Medication } from '../charts/medications.ts';
import type { Order } from '../charts/orders.ts';
import type { PatientInsurance } from '../charts/patientInsurances.ts';
import type { PatientPharmacy } from '../charts/patientPharmacies.ts';
import type { WholeEncounter } from '../charts/telephoneEncounters.ts';
import type { WholePatient } from '../charts/wholePatient.ts';
import type { HistoryEntry } from '../machine/history.ts';
import { billingSections, recordSections } from './chartSections.ts';
import { type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';
import { addressLine, facts, section, table } from './parts.ts';

export interface Chart {
  patient: WholePatient;
  insurances: PatientInsurance[];
  guarantors: Guarantor[];
  balances: Balances;
  alerts: Alerts;
  visits: Encounter[];
  orders: Order[];
  folders: string[];
  documents: Document[];
  medications: Medication[];
  pharmacies: PatientPharmacy[];
  encounters: WholeEncounter[];
  history: HistoryEntry[];
  /** The name behind an id of a provider, staff member, facility or pharmacy. */
  name: (kind: 'provider' | 'staff' | 'facility' | 'pharmacy', id: string) => string;
  time: (at: Date) => string;
}

export function chartPage(frame: Omit<Frame, 'title'>, chart: Chart): Html {
  const { patient } = chart;
  const edit = `/patients/${encodeURIComponent(patient.patientId)}/edit`;
  return page(
    { ...frame, title: `${patient.lastName}, ${patient.firstName}` },
    html`<div class="chart-head">
<div>
<p class="crumb"><a href="/patients">Patients</a></p>
<h1>${patient.lastName}, ${patient.firstName} ${patient.middleName}</h1>
<p class="facts"><span>MRN ${patient.mrn}</span><span>Born ${patient.birthDate ?? 'unknown'}</span><span>Sex ${patient.sexCode}</span></p>
</div>
<a class="button" href="${edit}">Edit contact details</a>
</div>
${demographics(chart)}
${billingSections(chart)}
${section('Medications', 'No medications.', medicationTable(chart.medications))}
${section('Pharmacies', 'No pharmacies.', pharmacyTable(chart.pharmacies))}
${section('Telephone encounters', 'No telephone encounters.', encounterList(chart))}
${recordSections(chart)}
${section('History', 'No changes yet.', historyTable(chart))}`,
  );
}

function demographics({ patient, guarantors, name }: Chart): Html {
  const payer = guarantors.find((one) => one.guarantorId === patient.responsibleGuarantorId);
  const contact = patient.emergencyContact;
  const words = (...parts: (string | null | undefined)[]) => parts.filter(Boolean).join(' ');
  return section('Demographics', '', [
    facts([
      ['Mobile', patient.cellPhone],
      ['Home phone', patient.homePhone],
      ['Email', patient.email],
      ['No email because', patient.noEmailReason],
      ['Address', addressLine(patient.address)],
      ['Insurance', patient.primaryInsuranceName],
      ['Subscriber number', patient.primarySubscriberNumber],
      ['Language', patient.languageName],
      ['Race', patient.raceName],
      ['Ethnicity', patient.ethnicityName],
      ['Responsible party', payer ? words(payer.firstName, payer.lastName) : 'Self'],
      ['Self pay', patient.selfPayFlag === 'Y' ? 'Yes' : 'No'],
      ['Release of information', patient.releaseOfInfoFlag === 'Y' ? 'Yes' : 'No'],
      ['Prescription history consent', patient.rxConsentFlag === 'Y' ? 'Yes' : 'No'],
      ['Referring provider', words(patient.referringFirstName, patient.referringLastName)],
      ['Primary care provider', words(patient.pcpFirstName, patient.pcpLastName)],
      ['Rendering provider', patient.renderingProviderId && name('provider', patient.renderingProviderId)],
      ['Default location', patient.defaultFacilityId && name('facility', patient.defaultFacilityId)],
      [
        'Emergency contact',
        contact &&
          words(contact.firstName, contact.lastName, contact.relation && `(${contact.relation})`, contact.phone),
      ],
    ]),
  ]);
}

function medicationTable(medications: Medication[]): Html[] {
  const row = (one: Medication) => [
    one.name,
    one.strength,
    one.frequency,
    one.startDate,
    one.refills,
    one.notes,
    one.activeFlag === 'Y' ? 'Active' : html`<span class="muted">Stopped</span>`,
  ];
  return table(
    'Medications',
    ['Name', 'Strength', 'Frequency', 'Since', 'Refills', 'Notes', 'Status'],
    medications.map(row),
  );
}

function pharmacyTable(pharmacies: PatientPharmacy[]): Html[] {
  const row = ({ name, address, phone, primaryFlag }: PatientPharmacy) => [
    name,
    addressLine(address),
    phone,
    primaryFlag === 'Y' ? 'Primary' : '',
  ];
  return table('Pharmacies', ['Name', 'Address', 'Phone', 'Use'], pharmacies.map(row));
}

function encounterList({ encounters, name, time }: Chart): Html[] {
  return encounters.map(
    (one) => html`<article class="encounter" id="encounter-${one.encounterId}">
<h3>${one.reason ?? 'Telephone call'} <span class="muted">no. ${one.encounterId}</span>
${one.priority === 'H' && html` <strong class="tag">High priority</strong>`}</h3>
<p class="muted">${time(one.createdAt)}, taken by ${one.createdBy}</p>
${one.message !== null && html`<blockquote>${one.message}</blockquote>`}
${facts([
  ['Caller', one.caller],
  ['Provider', name('provider', one.providerId)],
  ['Location', name('facility', one.facilityId)],
  ['Assigned to', name('staff', one.assignedTo)],
  ['Pharmacy', one.pharmacyId && name('pharmacy', one.pharmacyId)],
  ['Template', one.templateName],
  [
    'Refills',
    one.refills.map(
      (refill) =>
        html`<div>${refill.medicationName}${refill.pharmacyId && ` at ${name('pharmacy', refill.pharmacyId)}`}</div>`,
    ),
  ],
])}
<h4>Action log</h4>
${one.actions.length === 0 && html`<p class="muted">No actions yet.</p>`}
<ol class="log">
${one.actions.map((action) => html`<li><span class="muted">${time(action.at)}, ${action.by}</span><br>${action.text}</li>`)}
</ol>
</article>`,
  );
}

function historyTable({ history, time }: Chart): Html[] {
  const row = (one: HistoryEntry) => [
    time(one.at),
    one.by,
    `${one.record} ${one.recordId}`,
    one.field,
    one.before,
    one.after,
  ];
  return table('History', ['When', 'Who', 'Record', 'Field', 'Before', 'After'], history.map(row));
}
