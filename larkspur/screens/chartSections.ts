import { type Guarantor, relationships } from '../charts/guarantors.ts';
import { type PatientInsurance, subscriberRelationships } from '../charts/patientInsurances.ts';
import type { Chart } from './chart.ts';
import { type Content, type Html, html } from './html.ts';
import { addressLine, dollars, facts, section, table } from './parts.ts';

/** The sections that came with the full charts, in the order the front desk needs them. */
export function billingSections(chart: Chart): Html[] {
  const { insurances, guarantors, patient, time } = chart;
  const checks = patient.eligibilityChecks.map((check) => [
    time(check.requestedAt),
    check.companyName,
    checkStatuses[check.statusCode],
    check.requestedBy,
  ]);
  return [
    alertSection(chart),
    section('Insurance', 'No insurance.', table('Insurance', insuranceColumns, insurances.map(insuranceRow))),
    section('Guarantors', 'No guarantors.', table('Guarantors', guarantorColumns, guarantors.map(guarantorRow))),
    section(
      'Eligibility checks',
      'No eligibility checks.',
      table('Eligibility checks', ['Asked', 'Company', 'Answer', 'By'], checks),
    ),
  ];
}

export function recordSections(chart: Chart): Html[] {
  const { patient, visits, orders, time, name } = chart;
  const visitRows = visits.map((visit) => [
    html`<span class="nowrap">${visit.date} ${visit.startTime}</span>`,
    visit.visitType,
    visit.statusCode,
    name('provider', visit.providerId),
    visit.facilityName,
    visit.reason,
  ]);
  const moved = patient.addressHistory.map((one) => [time(one.replacedAt), addressLine(one.address), one.replacedBy]);
  return [
    section(
      'Appointments and encounters',
      'No appointments.',
      table('Appointments and encounters', ['When', 'Type', 'Status', 'Provider', 'Location', 'Reason'], visitRows),
    ),
    section('Orders', 'No orders.', orders.map(orderArticle(chart))),
    documentSection(chart),
    section(
      'Earlier addresses',
      'No earlier addresses.',
      table('Earlier addresses', ['Until', 'Address', 'Changed by'], moved),
    ),
  ];
}

const checkStatuses = { REQ: 'Asked for', ACT: 'Active coverage', INA: 'Not covered' };

function alertSection({ alerts, balances }: Chart): Html {
  const rows = alerts.globalAlerts.map((one) => [
    one.name,
    one.alertType,
    one.priority,
    one.notes,
    one.expiryDate ?? 'No end',
  ]);
  return section('Alerts and balances', '', [
    facts([
      ['Patient balance', dollars(balances.patientBalance)],
      ['Account balance', dollars(balances.accountBalance)],
      ['Billing alert', alerts.billingAlert === 'Y' ? html`<strong class="tag">Billing alert</strong>` : 'None'],
      ['Billing notes', alerts.billingNotes],
    ]),
    ...table('Alerts', ['Alert', 'Type', 'Priority', 'Notes', 'Until'], rows),
  ]);
}

const insuranceColumns = [
  'Company',
  'Order',
  'Payer ID',
  'Subscriber',
  'Group',
  'Begins',
  'Copayment',
  'Relationship',
  'Status',
];

function insuranceRow(one: PatientInsurance): Content[] {
  return [
    one.companyName,
    ['', 'Primary', 'Secondary', 'Tertiary'][one.priority],
    one.payerId,
    html`<span class="nowrap">${one.subscriberNumber}</span>`,
    one.groupNumber,
    one.planBegins,
    dollars(one.copayment),
    named(subscriberRelationships, one.relationshipCode ?? '01'),
    one.activeFlag === 'Y' ? 'Active' : html`<span class="muted">Ended</span>`,
  ];
}

const guarantorColumns = ['Name', 'Relationship', 'Born', 'Sex', 'Phone', 'Address'];

function guarantorRow(one: Guarantor): Content[] {
  const who = `${one.lastName}, ${one.firstName}`;
  return [
    who,
    named(relationships, one.relationshipCode),
    one.birthDate,
    one.sexCode,
    one.phone,
    addressLine(one.address),
  ];
}

function named(names: Record<string, string>, code: string): string {
  return names[code] ?? code;
}

const orderArticle = (chart: Chart) => (order: Chart['orders'][number]) => {
  const { labResults } = order;
  const results = labResults?.results.map((one) => [
    one.test,
    `${one.value} ${one.unit ?? ''}`,
    one.range,
    one.abnormalFlag === 'N'
      ? 'Normal'
      : html`<strong class="tag">${one.abnormalFlag === 'H' ? 'High' : 'Low'}</strong>`,
  ]);
  return html`<article class="encounter">
<h3>${order.name} <span class="muted">no. ${order.orderId}</span>${order.priority === 'STAT' && html` <strong class="tag">STAT</strong>`}</h3>
${facts([
  ['Ordered', order.orderDate],
  ['Provider', chart.name('provider', order.providerId)],
  ['Assigned to', order.assignedTo?.name ?? null],
  ['Results', labResults ? `${labResults.status}, ${labResults.resultedOn}, ${labResults.laboratory}` : 'Not back yet'],
])}
${results && table(`Results of order ${order.orderId}`, ['Test', 'Value', 'Range', 'Flag'], results)}
</article>`;
};

function documentSection({ patient, documents, folders, time, name }: Chart): Html {
  const inFolder = folders
    .map((path) => [path, documents.filter((one) => one.folderPath === path)] as const)
    .filter(([, list]) => list.length > 0);
  return section(
    'Documents',
    'No documents.',
    inFolder.map(
      ([path, list]) => html`<h3 class="folder">${path.replaceAll('/', ' / ')}</h3>
${table(
  `Documents in ${path}`,
  ['File', 'Size', 'Filed', 'By', 'Assigned to', 'Template', 'Notes', 'State'],
  list.map((one) => [
    html`<a href="/patients/${encodeURIComponent(patient.patientId)}/documents/${encodeURIComponent(one.documentId)}">${one.fileName}</a>`,
    `${Math.ceil(one.sizeBytes / 1024)} KB`,
    time(one.createdAt),
    one.createdBy,
    one.assignedTo && name('staff', one.assignedTo),
    one.templateName,
    one.notes,
    [
      one.reviewedFlag === 'Y' ? 'Reviewed' : 'To review',
      one.priority === 'H' && html` <strong class="tag">High priority</strong>`,
    ],
  ]),
)}`,
    ),
  );
}
