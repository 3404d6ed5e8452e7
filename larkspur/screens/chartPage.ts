import type { Medication } from '../charts/medications.ts';
import type { PatientPharmacy } from '../charts/patientPharmacies.ts';
import type { WholeEncounter } from '../charts/telephoneEncounters.ts';
import type { WholePatient } from '../charts/wholePatient.ts';
import type { HistoryEntry } from '../machine/history.ts';
import { type Content, type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';

export interface Chart {
  patient: WholePatient;
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
${section('Medications', 'No medications.', medicationTable(chart.medications))}
${section('Pharmacies', 'No pharmacies.', pharmacyTable(chart.pharmacies))}
${section('Telephone encounters', 'No telephone encounters.', encounterList(chart))}
${section('History', 'No changes yet.', historyTable(chart))}`,
  );
}

function demographics({ patient }: Chart): Html {
  const { address } = patient;
  const street = [address.line1, address.line2].filter(Boolean).join(', ');
  return section('Demographics', '', [
    facts([
      ['Mobile', patient.cellPhone],
      ['Home phone', patient.homePhone],
      ['Email', patient.email],
      ['Address', `${street}, ${address.city}, ${address.state} ${address.zip}`],
      ['Insurance', patient.primaryInsuranceName],
      ['Subscriber number', patient.primarySubscriberNumber],
      ['Language', patient.languageName],
      ['Race', patient.raceName],
      ['Ethnicity', patient.ethnicityName],
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
    `${address.line1}, ${address.city}, ${address.state} ${address.zip}`,
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

function section(title: string, none: string, content: Html[]): Html {
  return html`<section class="card"><h2>${title}</h2>${content.length > 0 ? content : html`<p class="muted">${none}</p>`}</section>`;
}

function facts(pairs: [label: string, value: Content][]): Html {
  const given = pairs.filter(
    ([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  );
  return html`<dl class="facts-list">${given.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function table(label: string, columns: string[], rows: Content[][]): Html[] {
  if (rows.length === 0) return [];
  return [
    html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...rest]) => html`<tr><th scope="row">${first}</th>${rest.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table></div>`,
  ];
}
