import { TELEPHONE } from '../charts/encounters.ts';
import { type Guarantor, relationships } from '../charts/guarantors.ts';
import { type ListedInsurance, subscriberRelationships } from '../charts/patientInsurances.ts';
import { FREE_STATUSES } from '../practice/scheduling.ts';
import { checkLink, checkStatuses } from './eligibility.ts';
import { addressLine, type Content, dollars, factList, html, nowrap, type Part, part, table } from './html.ts';
import { type Chart, chartRow } from './readChart.ts';

export function billingParts(chart: Chart): Part[] {
  const { insurances, guarantors, patient, time } = chart;
  const checks = patient.eligibilityChecks.map((check) =>
    chartRow(chart, `eligibility-check-${check.checkId}`, [
      checkLink(check, time(check.requestedAt)),
      check.companyName,
      check.planName,
      checkStatuses[check.statusCode],
      check.serviceDate,
      check.requestedBy,
    ]),
  );
  return [
    alertPart(chart),
    ledgerPart(chart),
    part('Insurance', 'No insurance.', table('Insurance', insuranceColumns, insurances.map(insuranceRow(chart)))),
    part('Guarantors', 'No guarantors.', table('Guarantors', guarantorColumns, guarantors.map(guarantorRow(chart)))),
    part(
      'Eligibility checks',
      'No eligibility checks.',
      table('Eligibility checks', ['Requested', 'Company', 'Plan', 'Result', 'Service date', 'Requested by'], checks),
    ),
  ];
}

export function visitPart(chart: Chart): Part {
  const { encounters, name } = chart;
  const encounterRows = encounters.map((encounter) =>
    // Telephone encounters have a section of their own, whose entries have these ids.
    chartRow(chart, encounter.visitType === TELEPHONE ? '' : `appointment-${encounter.encounterId}`, [
      visitTime(encounter),
      chart.visitType(encounter.visitType),
      chart.visitStatus(encounter.statusCode),
      name('provider', encounter.providerId),
      encounter.facilityName,
      encounter.reason,
    ]),
  );
  return part(
    'Appointments and encounters',
    'No appointments.',
    table('Appointments and encounters', ['Time', 'Type', 'Status', 'Provider', 'Location', 'Reason'], encounterRows),
  );
}

export function orderPart(chart: Chart): Part {
  return part('Orders', 'No orders.', chart.orders.map(orderArticle(chart)));
}

export function previousAddressPart({ patient, time }: Chart): Part {
  const rows = patient.addressHistory.map(({ replacedAt, address, replacedBy }) => [
    time(replacedAt),
    addressLine(address),
    replacedBy,
  ]);
  return part(
    'Previous addresses',
    'No previous addresses.',
    table('Previous addresses', ['Until', 'Address', 'Changed by'], rows),
  );
}

/** Struck through if the visit did not or will not take place, as on the schedule. */
function visitTime({ date, startTime, statusCode }: Chart['encounters'][number]): Content {
  const shown = nowrap(`${date} ${startTime}`);
  return FREE_STATUSES.includes(statusCode) ? html`<s>${shown}</s>` : shown;
}

function alertPart({ alerts, balances }: Chart): Part {
  const rows = alerts.globalAlerts.map((alert) => [
    alert.name,
    alert.alertType,
    alert.priority,
    alert.notes,
    alert.expiryDate ?? 'No expiry',
  ]);
  return part('Alerts and balances', '', [
    factList([
      ['Patient balance', dollars(balances.patientBalance)],
      ['Account balance', dollars(balances.accountBalance)],
      ['Billing alert', alerts.billingAlert === 'Y' ? html`<strong class="tag">Billing alert</strong>` : 'None'],
      ['Billing notes', alerts.billingNotes],
    ]),
    ...table('Alerts', ['Alert', 'Type', 'Priority', 'Notes', 'Expires'], rows),
  ]);
}

/** Newest first. */
function ledgerPart(chart: Chart): Part {
  const { payments, name, time } = chart;
  const rows = payments.map((payment) =>
    chartRow(chart, `payment-${payment.paymentId}`, [
      nowrap(payment.depositDate),
      html`Payment <span class="muted">#${payment.paymentId}</span>`,
      payment.methodName,
      payment.referenceNumber,
      name('facility', payment.facilityId),
      dollars(payment.amount),
      dollars(payment.balanceAfter),
      payment.notes,
      `${time(payment.createdAt)}, ${payment.createdBy}`,
    ]),
  );
  const columns = ['Date', 'Entry', 'Method', 'Reference', 'Location', 'Amount', 'Balance after', 'Notes', 'Posted'];
  return part('Ledger', 'No payments.', table('Ledger', columns, rows));
}

const insuranceColumns = [
  'Company',
  'Priority',
  'Payer ID',
  'Subscriber number',
  'Group',
  'Plan begins',
  'Plan ends',
  'Copayment',
  'Relationship',
  'Status',
];

const insuranceRow = (chart: Chart) => (insurance: ListedInsurance) =>
  chartRow(chart, `insurance-${insurance.insuranceId}`, [
    insurance.companyName,
    ['', 'Primary', 'Secondary', 'Tertiary'][insurance.priority],
    insurance.payerId,
    nowrap(insurance.subscriberNumber),
    insurance.groupNumber,
    insurance.planBegins,
    insurance.planEnds,
    dollars(insurance.copayment),
    findLabel(subscriberRelationships, insurance.relationshipCode ?? '01'),
    insurance.inForceFlag === 'Y' ? 'Active' : html`<span class="muted">Inactive</span>`,
  ]);

const guarantorColumns = ['Name', 'Relationship', 'Birth date', 'Sex', 'Phone', 'Address'];

const guarantorRow = (chart: Chart) => (guarantor: Guarantor) =>
  chartRow(chart, `guarantor-${guarantor.guarantorId}`, [
    `${guarantor.lastName}, ${guarantor.firstName}`,
    findLabel(relationships, guarantor.relationshipCode),
    guarantor.birthDate,
    guarantor.sexCode,
    guarantor.phone,
    addressLine(guarantor.address),
  ]);

function findLabel(labels: Record<string, string>, code: string): string {
  return labels[code] ?? code;
}

const orderArticle = (chart: Chart) => (order: Chart['orders'][number]) => {
  const { labResults } = order;
  const results = labResults?.results.map((result) => [
    result.test,
    `${result.value} ${result.unit ?? ''}`,
    result.range,
    result.abnormalFlag === 'N'
      ? 'Normal'
      : html`<strong class="tag">${result.abnormalFlag === 'H' ? 'High' : 'Low'}</strong>`,
  ]);
  return html`<article class="encounter">
<h3>${order.name} <span class="muted">#${order.orderId}</span>${order.priority === 'STAT' && html` <strong class="tag">STAT</strong>`}</h3>
${factList([
  ['Ordered', order.orderDate],
  ['Provider', chart.name('provider', order.providerId)],
  ['Assigned to', order.assignedTo?.name ?? null],
  ['Results', labResults ? `${labResults.status}, ${labResults.resultedOn}, ${labResults.laboratory}` : 'Pending'],
])}
${results && table(`Results for order ${order.orderId}`, ['Test', 'Value', 'Range', 'Flag'], results)}
</article>`;
};

export function documentPart(chart: Chart): Part {
  const { patient, documents, folders, time, name } = chart;
  const filled = folders
    .map((path) => [path, documents.filter(({ folderPath }) => folderPath === path)] as const)
    .filter(([, list]) => list.length > 0);
  return part(
    'Documents',
    'No documents.',
    filled.map(
      ([path, list]) => html`<h3 class="folder">${path.replaceAll('/', ' / ')}</h3>
${table(
  `Documents in ${path}`,
  ['File', 'Size', 'Uploaded', 'Uploaded by', 'Assigned to', 'Template', 'Notes', 'Status'],
  list.map((document) =>
    chartRow(chart, `document-${document.documentId}`, [
      html`<a href="/patients/${encodeURIComponent(patient.patientId)}/documents/${encodeURIComponent(document.documentId)}">${document.fileName}</a>`,
      `${Math.ceil(document.sizeBytes / 1024)} KB`,
      time(document.createdAt),
      document.createdBy,
      document.assignedTo && name('staff', document.assignedTo),
      document.templateName,
      document.notes,
      [
        document.reviewedFlag === 'Y' ? 'Reviewed' : 'Not reviewed',
        document.priority === 'H' && html` <strong class="tag">High priority</strong>`,
      ],
    ]),
  ),
)}`,
    ),
  );
}
