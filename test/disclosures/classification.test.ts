import { expect, test } from 'vitest';
import { accepting_verbs, export_actions } from '../../src/product/disclosures/disclosures.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';

// Only the declarations are used, so the dependencies of a running service are stubs.
const never = (): never => {
  throw new Error('Not called in this test.');
};
const dashboard = dashboardEndpoints({ live: { open: never }, findSandboxEmr: () => undefined });
const audited = [...endpoints, ...dashboard].filter((each) => each.audited !== false && each.auth !== 'none');
const isAccepting = (id: string) => accepting_verbs.some((verb) => id.endsWith(`.${verb}`));

test('every audited endpoint that reads counts as a disclosure of the patients that it names', () => {
  const reading = audited.filter(({ method, reads }) => method === 'GET' || reads);
  expect(reading.length).toBeGreaterThan(30);
  expect(reading.filter(({ id }) => isAccepting(id)).map(({ id }) => id)).toStrictEqual([]);
});

test('so does every search and export of operators, whose filters are in the body', () => {
  const searching = dashboard.filter(({ id, method, body_filters, audited: recorded }) => {
    return method === 'POST' && body_filters && recorded !== false && !id.endsWith('.resend');
  });
  expect(searching.length).toBeGreaterThan(8);
  expect(searching.filter(({ id }) => isAccepting(id))).toStrictEqual([]);
  expect(isAccepting('dashboard.patients.find')).toBe(false);
  expect(isAccepting('dashboard.jobs.patients')).toBe(false);
});

test('requests that queue a job do not count: they return its ID', () => {
  const queuing = audited.filter(({ job_type, id }) => job_type !== undefined || id === 'jobs.run-again');
  expect(queuing.length).toBeGreaterThan(10);
  expect(queuing.filter(({ id }) => !isAccepting(id)).map(({ id }) => id)).toStrictEqual([]);
});

test('every endpoint that sends a file is an export', () => {
  const files = audited.filter(({ id, path }) => /export/.test(id) || path.endsWith('.csv'));
  expect(files.map(({ id }) => id).filter((id) => !export_actions.includes(id))).toStrictEqual([]);
});
