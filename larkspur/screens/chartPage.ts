import type { FastifyInstance } from 'fastify';
import { type Document, getDocument } from '../charts/documents.ts';
import type { Medication } from '../charts/medications.ts';
import type { PatientPharmacy } from '../charts/patientPharmacies.ts';
import type { Context } from '../context.ts';
import type { HistoryEntry } from '../records/history.ts';
import { billingParts, documentPart, orderPart, previousAddressPart, visitPart } from './chartSections.ts';
import { chartSummary, patientBanner } from './chartSummary.ts';
import { addressLine, chartPath, factList, type Html, html, newMark, type Part, part, table, tabs } from './html.ts';
import { type Frame, page } from './page.ts';
import { type Chart, chartRow, readChart } from './readChart.ts';
import { referralPart } from './referrals.ts';
import { notePart, taskPart } from './tasksAndNotes.ts';
import { frameFor, requireUser, sendPage } from './user.ts';

export function serveChart(app: FastifyInstance, context: Context): void {
  app.get<{ Params: { patientId: string } }>('/patients/:patientId', async (request, reply) => {
    const user = await requireUser(context, request);
    const chart = await readChart(context, request.params.patientId);
    return sendPage(reply, chartPage(await frameFor(context, user), chart));
  });

  app.get<{ Params: { patientId: string; documentId: string } }>(
    '/patients/:patientId/documents/:documentId',
    async (request, reply) => {
      await requireUser(context, request);
      const document = await getDocument(context.sql, request.params.patientId, request.params.documentId);
      return reply.headers(downloadHeaders(document)).send(document.content);
    },
  );
}

function chartPage(frame: Frame, chart: Chart): Html {
  const { patient } = chart;
  return page(
    { ...frame, wide: true },
    `${patient.lastName}, ${patient.firstName}`,
    html`${patient.mergedInto !== null && html`<p class="alert">This chart is inactive. It was merged into <a href="${chartPath(patient.mergedInto)}">another chart</a>.</p>`}
${tabs('Chart', patientBanner(chart), [
  { id: 'summary', title: 'Summary', content: [chartSummary(chart), demographics(chart).content] },
  { id: 'visits', title: 'Visits', content: contents([visitPart(chart), notePart(chart)]) },
  {
    id: 'calls',
    title: 'Calls and tasks',
    content: contents([
      part('Telephone encounters', 'No telephone encounters.', telephoneEncounterList(chart)),
      taskPart(chart),
    ]),
  },
  {
    id: 'medication',
    title: 'Medications',
    content: contents([
      part('Medications', 'No medications.', medicationTable(chart.medications)),
      part('Pharmacies', 'No pharmacies.', pharmacyTable(chart)),
    ]),
  },
  {
    id: 'orders-and-referrals',
    title: 'Orders and referrals',
    content: contents([orderPart(chart), referralPart(chart)]),
  },
  { id: 'billing', title: 'Billing', content: contents(billingParts(chart)) },
  { id: 'files', title: 'Documents', content: contents([documentPart(chart)]) },
  {
    id: 'changes',
    title: 'History',
    content: contents([part('History', 'No changes.', historyTable(chart)), previousAddressPart(chart)]),
  },
])}`,
  );
}

function contents(parts: Part[]): Html[] {
  return parts.map(({ content }) => content);
}

function demographics({ patient, guarantors, isNew, name }: Chart): Part {
  const payer = guarantors.find(({ guarantorId }) => guarantorId === patient.responsibleGuarantorId);
  const contact = patient.emergencyContact;
  const joined = (...parts: (string | null | undefined)[]) => parts.filter(Boolean).join(' ');
  const id = `patient-${patient.patientId}`;
  return part('Demographics', '', [
    html`<div id="${id}">${isNew(id) && html`<p>${newMark(true)}</p>`}${factList([
      ['Mobile phone', patient.cellPhone],
      ['Home phone', patient.homePhone],
      ['Email', patient.email],
      ['Reason for no email', patient.noEmailReason],
      ['Address', addressLine(patient.address)],
      ['Insurance', patient.primaryInsuranceName],
      ['Subscriber number', patient.primarySubscriberNumber],
      ['Language', patient.languageName],
      ['Race', patient.raceName],
      ['Ethnicity', patient.ethnicityName],
      ['Responsible party', payer ? joined(payer.firstName, payer.lastName) : 'Self'],
      ['Self pay', patient.selfPayFlag === 'Y' ? 'Yes' : 'No'],
      ['Release of information', patient.releaseOfInfoFlag === 'Y' ? 'Yes' : 'No'],
      ['Prescription history consent', patient.rxConsentFlag === 'Y' ? 'Yes' : 'No'],
      ['Referring provider', joined(patient.referringFirstName, patient.referringLastName)],
      ['Primary care provider', joined(patient.pcpFirstName, patient.pcpLastName)],
      ['Rendering provider', patient.renderingProviderId && name('provider', patient.renderingProviderId)],
      ['Default location', patient.defaultFacilityId && name('facility', patient.defaultFacilityId)],
      [
        'Emergency contact',
        contact &&
          joined(contact.firstName, contact.lastName, contact.relation && `(${contact.relation})`, contact.phone),
      ],
    ])}</div>`,
  ]);
}

function medicationTable(medications: Medication[]): Html[] {
  const row = (medication: Medication) => [
    medication.name,
    medication.strength,
    medication.frequency,
    medication.startDate,
    medication.refills,
    medication.notes,
    medication.activeFlag === 'Y' ? 'Active' : html`<span class="muted">Stopped</span>`,
  ];
  return table(
    'Medications',
    ['Name', 'Strength', 'Frequency', 'Start date', 'Refills', 'Notes', 'Status'],
    medications.map(row),
  );
}

function pharmacyTable(chart: Chart): Html[] {
  const row = ({ pharmacyId, name, address, phone, primaryFlag }: PatientPharmacy) =>
    chartRow(chart, `pharmacy-${pharmacyId}`, [
      name,
      addressLine(address),
      phone,
      primaryFlag === 'Y' ? 'Primary' : '',
    ]);
  return table('Pharmacies', ['Name', 'Address', 'Phone', 'Priority'], chart.pharmacies.map(row));
}

function telephoneEncounterList({ telephoneEncounters, isNew, name, time }: Chart): Html[] {
  return telephoneEncounters.map(
    (encounter) => html`<article class="encounter" id="encounter-${encounter.encounterId}">
<h3>${encounter.reason ?? 'Telephone encounter'} <span class="muted">#${encounter.encounterId}</span>
${encounter.priority === 'H' && html` <strong class="tag">High priority</strong>`}${newMark(isNew(`encounter-${encounter.encounterId}`))}</h3>
<p class="muted">${time(encounter.createdAt)}, created by ${encounter.createdBy}</p>
${encounter.message !== null && html`<blockquote>${encounter.message}</blockquote>`}
${factList([
  ['Caller', encounter.caller],
  ['Provider', name('provider', encounter.providerId)],
  ['Location', name('facility', encounter.facilityId)],
  ['Assigned to', name('staff', encounter.assignedTo)],
  ['Pharmacy', encounter.pharmacyId && name('pharmacy', encounter.pharmacyId)],
  ['Template', encounter.templateName],
  [
    'Refills',
    encounter.refills.map(
      (refill) =>
        html`<div>${refill.medicationName}${refill.pharmacyId && ` at ${name('pharmacy', refill.pharmacyId)}`}</div>`,
    ),
  ],
])}
<h4>Action log</h4>
${encounter.actions.length === 0 && html`<p class="muted">No actions.</p>`}
<ol class="log">
${encounter.actions.map((action) => html`<li><span class="muted">${time(action.at)}, ${action.by}</span><br>${action.text}</li>`)}
</ol>
</article>`,
  );
}

function historyTable({ history, time }: Chart): Html[] {
  const row = (entry: HistoryEntry) => [
    time(entry.at),
    entry.by,
    `${entry.record} ${entry.recordId}`,
    entry.field,
    entry.before,
    entry.after,
  ];
  return table('History', ['Time', 'User', 'Record', 'Field', 'Before', 'After'], history.map(row));
}

/** Makes the browser save the file, whatever its name and content, and never run scripts in it. */
function downloadHeaders({ fileName, contentType }: Document): Record<string, string> {
  const ascii = fileName.replace(/[^A-Za-z0-9._ -]/g, '_');
  const utf8 = encodeURIComponent(fileName.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': contentType,
    'content-disposition': `attachment; filename="${ascii}"; filename*=UTF-8''${utf8}`,
    'content-security-policy': "default-src 'none'; sandbox",
  };
}
