import { afterAll, beforeAll, expect, test } from 'vitest';
import { editableKinds } from '../../larkspur/control/editRecords.ts';
import { pathSegment } from '../../larkspur/records/recordKind.ts';
import { type Clinic, ENCOUNTERS, encounterBody, openClinic, type Row } from './fixture.ts';

let clinic: Clinic;
let token: string;
const get = async (path: string) => (await clinic.api('GET', path, undefined, token)).body;
const post = (path: string, body: object) => clinic.api('POST', path, body, token);

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

test('paging returns each claim once, with consistent amounts', async () => {
  const claims_read = new Map<string, Row>();
  let total = 1;
  for (let page = 1; claims_read.size < total; page++) {
    const response = await get(`/api/claims?pageSize=500&page=${page}`);
    total = response.total;
    for (const row of response.rows) claims_read.set(row.claimId, row);
    expect(response.rows.length).toBeGreaterThan(0);
  }
  expect(total).toBe(2000);
  const cents = (text: unknown) => Math.round(Number(text) * 100);
  for (const row of claims_read.values()) {
    const { totalCharge, totalPayment, netAdjustment, balance, payments, lineItems } = row as unknown as Claim;
    expect(cents(totalCharge)).toBe(cents(totalPayment) + cents(netAdjustment) + cents(balance));
    expect(cents(totalPayment)).toBe(payments.reduce((sum, one) => sum + cents(one.amount), 0));
    expect(cents(totalCharge)).toBe(lineItems.reduce((sum, one) => sum + cents(one.billedAmount), 0));
  }
  const all = [...claims_read.values()] as unknown as Claim[];
  const payments = all.flatMap((claim) => claim.payments);
  expect(payments.some((one) => one.eraAdjustmentCodes === null)).toBe(true);
  expect(payments.some((one) => one.eraAdjustmentCodes?.['CO-45'] !== undefined)).toBe(true);
});

interface Claim {
  totalCharge: string;
  totalPayment: string;
  netAdjustment: string;
  balance: string;
  payments: { amount: string; eraAdjustmentCodes: Record<string, string> | null }[];
  lineItems: { billedAmount: string }[];
}

test('a claim has all documented fields', async () => {
  const claim = await get('/api/claims/200001');
  expect(claim).toMatchObject({
    claimId: '200001',
    mrn: 'LK100001',
    serviceDate: expect.stringMatching(/^\d\d\/\d\d\//),
  });
  expect(Object.keys(claim)).toEqual(
    (
      'claimId appointmentId serviceDate claimDate statusCode statusDescription claimType voidFlag patientId mrn ' +
      'patientName providerId providerName totalCharge totalPayment netPayment balance netAdjustment ' +
      'patientResponsibility icdCodes billingNotes insurances balances voidClaim submissionHistory activityLog ' +
      'lineItems payments createdAt lastModified'
    ).split(' '),
  );
  expect((await clinic.api('GET', '/api/claims/x', undefined, token)).status).toBe(404);
});

test('modifiedSince returns only claims changed since then', async () => {
  clinic.clock.advance(1000);
  const since = `modifiedSince=${encodeURIComponent(clinic.clock.at.toISOString())}`;
  expect((await get(`/api/claims?${since}`)).total).toBe(0);
  await clinic.control('PATCH', '/control/claims/200002', { statusCode: 'DEN', totalPayment: '1.00' });
  expect((await get(`/api/claims?${since}`)).rows).toMatchObject([{ claimId: '200002', totalPayment: '1.00' }]);
  expect((await get('/api/claims?mrn=LK100001')).total).toBeGreaterThan(40);
  expect((await clinic.api('GET', '/api/claims?modifiedSince=yesterday', undefined, token)).status).toBe(400);
});

test('lists orders with and without results, filtered by patient', async () => {
  const { rows, total } = await get('/api/orders?pageSize=500');
  expect(total).toBe(240);
  expect(rows.some((row) => row.labResults === null)).toBe(true);
  expect(rows.find((row) => row.labResults)?.labResults).toMatchObject({
    status: 'Final',
    results: expect.arrayContaining([expect.objectContaining({ unit: expect.any(String) })]),
  });
  expect(Object.keys(rows[0] ?? {})).toEqual(
    'orderId name orderDate providerId mrn patientName birthDate appointmentId priority assignedTo labResults'.split(
      ' ',
    ),
  );
  const own = await get('/api/orders?mrn=LK100001');
  expect(own.rows.length).toBeGreaterThan(4);
  expect(own.rows[0]).toMatchObject({ mrn: 'LK100001', patientName: 'Testpatient, Ada' });
  expect(await get('/api/orders?mrn=nobody')).toMatchObject({ total: 0, rows: [] });
});

test('returns balances and alerts as last changed by the clinic', async () => {
  expect(await get('/api/patients/10001/balances')).toEqual({
    patientBalance: '42.50',
    accountBalance: expect.stringMatching(/^\d+\.\d\d$/),
  });
  expect(await get('/api/patients/10001/alerts')).toMatchObject({
    billingAlert: 'N',
    billingNotes: null,
    globalAlerts: [{ name: expect.any(String), alertType: expect.any(String), priority: expect.any(String) }, {}],
  });
  await clinic.control('PATCH', '/control/balances/10001', { patientBalance: '7.5' });
  expect(await get('/api/patients/10001/balances')).toMatchObject({ patientBalance: '7.50' });
  for (const part of ['balances', 'alerts', 'encounters', 'insurances', 'guarantors', 'documents']) {
    expect((await clinic.api('GET', `/api/patients/x/${part}`, undefined, token)).status, part).toBe(404);
  }
});

test('lists appointments and telephone encounters newest first; only telephone encounters have caller and message', async () => {
  const { recordId } = (await post(ENCOUNTERS, encounterBody('enc', { caller: 'Beth', message: 'Hello' }))).body;
  await post(`/api/telephone-encounters/${recordId}/actions`, { externalRef: 'enc', text: 'Called back.' });
  const { rows, total } = await get('/api/patients/10001/encounters');
  expect(rows).toHaveLength(total);
  expect(rows.find((row) => (row as unknown as { encounterId: string }).encounterId === recordId)).toEqual({
    encounterId: recordId,
    date: '03/10/2026',
    startTime: '11:00',
    visitType: 'TEL',
    statusCode: 'OPN',
    providerId: '501',
    providerFirstName: 'Harper',
    providerLastName: 'Samplewell',
    reason: null,
    facilityId: '11',
    facilityName: 'Larkspur Main Street',
    lockedFlag: 'N',
    caller: 'Beth',
    message: 'Hello',
    notes: null,
    assignedTo: '703',
    assignedToName: 'Casey Bandageworth, RN',
    answeredBy: 'Avery Deskwell',
    priority: 'N',
    hasAttachment: 'N',
    actions: [{ at: clinic.clock.at.toISOString(), by: 'Avery Deskwell', text: 'Called back.' }],
  });
  const visits = rows.filter((row) => row.visitType !== 'TEL');
  expect(visits.length).toBeGreaterThan(5);
  expect(visits.every((row) => !('caller' in row))).toBe(true);
  const days = rows.map((row) => (row as unknown as { date: string }).date.replace(/(..)\/(..)\/(....)/, '$3$1$2'));
  expect(days).toEqual(days.toSorted().reverse());
  expect(days[0]?.localeCompare('20260310')).toBe(1);
});

test('uploads a document and creates its folders; rejects invalid files and folder paths', async () => {
  const path = '/api/patients/10001/documents';
  const upload = (externalRef: string, fields: object = {}) =>
    post(path, {
      externalRef,
      folderPath: 'Outside/Letters 2026',
      fileName: 'letter.pdf',
      contentType: 'application/pdf',
      contentBase64: Buffer.from('%PDF-1.4 letter').toString('base64'),
      ...fields,
    });
  const { status, body } = await upload('doc', { notes: 'Fax', assignedTo: '711', priority: 'H', templateName: 'T' });
  expect(status).toBe(201);
  expect(body.changes.map((change) => change.field)).not.toContain('contentBase64');
  expect((await get(path)).rows.at(-1)).toMatchObject({
    documentId: body.recordId,
    folderPath: 'Outside/Letters 2026',
    sizeBytes: 15,
    reviewedFlag: 'N',
    priority: 'H',
    createdBy: 'Avery Deskwell',
  });
  const five = Buffer.alloc(5 * 1024 * 1024, 'x').toString('base64');
  expect((await upload('big', { contentBase64: five })).status).toBe(201);
  const cases: [fields: object, status: number][] = [
    [{ contentBase64: 'not base64!' }, 400],
    [{ contentBase64: 'x'.repeat(9 * 1024 * 1024) }, 400],
    [{ contentType: 'text/html' }, 400],
    [{ folderPath: '../etc' }, 422],
    [{ folderPath: 'A//B' }, 422],
    [{ assignedTo: '712' }, 422],
  ];
  for (const [fields, expected] of cases) {
    expect((await upload('bad', fields)).status, JSON.stringify(fields).slice(0, 60)).toBe(expected);
  }
});

test('the control API can update and delete every kind of record', async () => {
  const samples: Record<string, [id: string, change: object]> = {
    'insurance-companies': ['301', { carrierId: null }],
    'referring-providers': ['8001', { activeFlag: 'N' }],
    'visit-types': ['NV', { defaultMinutes: 25 }],
    'visit-statuses': ['RSC', { description: 'Moved' }],
    codes: ['language-FRE', { name: 'Français' }],
    settings: ['requiredPatientFields', { value: ['email'] }],
    blocks: ['65001', { minutes: 45 }],
    appointments: ['500001', { statusCode: 'ARR', progressNote: null }],
    claims: ['200003', { payments: [], icdCodes: ['I10'] }],
    orders: ['150001', { labResults: null, assignedTo: '703' }],
    referrals: ['750001', { statusCode: 'CLOSED', urgency: null }],
    'patient-insurances': ['85001', { copayment: null, priority: 2 }],
    guarantors: ['80001', { phone: null, address: { line2: 'Rear' } }],
    'eligibility-checks': ['90001', { statusCode: 'INA' }],
    payments: ['270001', { notes: 'By mail' }],
    balances: ['10002', { accountBalance: '-3.00' }],
    alerts: ['10001', { billingAlert: 'Y', globalAlerts: [] }],
    medications: ['20001', { activeFlag: 'N', notes: null }],
  };
  const kinds = editableKinds
    .map(pathSegment)
    .filter((kind) => !/^(providers|staff|facilities|pharmacies|patients)$/.test(kind));
  expect(kinds.toSorted()).toEqual(Object.keys(samples).toSorted());
  for (const [kind, [id, change]] of Object.entries(samples)) {
    const changed = await clinic.control('PATCH', `/control/${kind}/${id}`, change);
    expect(changed, kind).toMatchObject({ status: 200, body: change });
    expect((await clinic.control('PATCH', `/control/${kind}/${id}`, { surprise: 1 })).status, kind).toBe(400);
    expect((await clinic.control('DELETE', `/control/${kind}/${id}`)).status, kind).toBe(200);
    expect((await clinic.control('DELETE', `/control/${kind}/${id}`)).status, kind).toBe(404);
  }
  const added = await clinic.control('POST', '/control/orders', {
    patientId: '10001',
    orderDate: '03/01/2026',
    providerId: '501',
  });
  expect(added).toMatchObject({ status: 201, body: { orderId: '200000', labResults: null } });
  expect((await clinic.control('POST', '/control/orders', {})).status).toBe(400);
  expect((await clinic.control('POST', '/control/balances', { patientId: 'x' })).status).toBe(400);
});
