import type { Bundle, CapabilityStatement } from 'fhir/r4.js';
import { expect, test } from 'vitest';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { athena_practice, type VendorName, vendors } from '../../../harness/fhir/vendors/vendors.ts';

const server = sharedFhirServer({ data: 'paged' });

async function search(path: string): Promise<{ status: number; body: Bundle }> {
  const url = path.startsWith('http') ? path : `${server.url}/${path}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${server.bearerToken()}` } });
  return { status: response.status, body: (await response.json()) as Bundle };
}

const practice = new URLSearchParams(athena_practice).toString();

test.each(Object.keys(vendors) as VendorName[])('the server of %s lists what the vendor lists', async (vendor) => {
  server.faults.vendor = vendor;
  const statement = (await (await fetch(`${server.url}/metadata`)).json()) as CapabilityStatement;
  const stated = statement.rest?.[0]?.resource ?? [];
  for (const [type, [interactions, params]] of Object.entries(vendors[vendor].statement)) {
    const resource = stated.find((each) => each.type === type);
    if (interactions === '' || type === 'Group') continue;
    expect(resource?.interaction?.map(({ code }) => code).toSorted(), type).toEqual(interactions.split(' ').toSorted());
    const names = resource?.searchParam?.map(({ name }) => name).toSorted() ?? [];
    expect(names, type).toEqual(params.split(' ').filter(Boolean).toSorted());
  }
});

test.each([
  ['oracle', 'Patient', 'Patient?birthdate=ge1900-01-01&birthdate=le2030-01-01'],
  ['oracle', 'Patient?birthdate=ge1900-01-01&birthdate=lt2030-01-01', 'Patient?family=Abel'],
  ['oracle', 'Practitioner', 'Practitioner?active=true'],
  ['oracle', 'Location?name=Main', 'Location?-physicalType=si'],
  [
    'oracle',
    'Appointment?date=ge2026-01-01',
    'Appointment?location=Location/loc-1&date=ge2026-01-01&date=lt2030-01-01',
  ],
  [
    'oracle',
    'Appointment?location=Location/loc-1&practitioner=Practitioner/prac-1&date=ge2026-01-01',
    'Appointment?practitioner=Practitioner/prac-1&date=ge2026-01-01',
  ],
  ['oracle', 'Slot?start=ge2026-01-01', 'Slot?service-type=1&start=ge2026-01-01&start=lt2026-02-01'],
  ['oracle', 'Schedule?actor=Practitioner/prac-1', 'Schedule?_id=1'],
  ['athena', 'Practitioner', `Practitioner?${practice}`],
  ['athena', `Patient?birthdate=ge1900-01-01&${practice}`, `Patient?name=a&${practice}`],
  ['athena', `ServiceRequest?${practice}`, `ServiceRequest?patient=Patient/pat-1&${practice}`],
  ['ecw', 'Location', 'Location?name=Main'],
  ['nextgen_enterprise', 'Coverage', 'Coverage?_lastUpdated=ge1900-01-01'],
  ['meditech', 'Practitioner?family=A&given=B', 'Practitioner?family=A'],
  ['modmed', 'Organization', 'Organization?name=e'],
  ['advancedmd', 'ServiceRequest?authored=ge1900-01-01', 'ServiceRequest?patient=Patient/pat-1'],
] as const)('the server of %s refuses %s and performs %s', async (vendor, refused, performed) => {
  server.faults.vendor = vendor;
  expect(await search(refused)).toMatchObject({ status: 400, body: { resourceType: 'OperationOutcome' } });
  expect(await search(performed)).toMatchObject({ status: 200, body: { resourceType: 'Bundle' } });
});

test.each([
  ['ecw', 'page', 'Patient?birthdate=ge1900-01-01'],
  ['meditech', 'continue', 'Patient?birthdate=ge1900-01-01'],
  ['athena', 'cursor', `Patient?name=E&${practice}`],
  ['oracle', 'pageContext', 'Patient?birthdate=ge1900-01-01'],
] as const)('the server of %s pages by %s', async (vendor, param, path) => {
  server.faults.vendor = vendor;
  server.faults.page_rows_max = 2;
  const first = await search(path);
  const next = first.body.link?.find(({ relation }) => relation === 'next')?.url ?? '';
  expect(new URL(next).searchParams.has(param)).toBe(true);
  const shared = vendors[vendor].constant_params !== undefined;
  expect((await search(next)).status).toBe(shared ? 400 : 200);
  const second = await search(shared ? `${next}&${practice}` : next);
  expect(second.status).toBe(200);
  expect(second.body.entry?.[0]?.resource?.id).not.toBe(first.body.entry?.[0]?.resource?.id);
});

test('a server of eClinicalWorks answers 250 requests per clock minute', async () => {
  server.faults.vendor = 'ecw';
  const statuses: number[] = [];
  // More than fit into two minutes, one of which ends during the test.
  for (let n = 0; n < 501; n++) statuses.push((await fetch(`${server.url}/metadata`)).status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(250);
});
