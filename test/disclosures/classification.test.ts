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

test('of those that change something, exactly these count: they return data, or name no patient', () => {
  const changing = audited.filter(({ method, reads }) => method !== 'GET' && !reads);
  const counted = changing.filter(({ id }) => !isAccepting(id)).map(({ id }) => id);
  const reading_by_post = /\.(search|find|patients|export|export-search)$/;
  expect(counted.filter((id) => reading_by_post.test(id)).sort()).toMatchSnapshot();
  // None of these names a patient in its audit record.
  expect(counted.filter((id) => !reading_by_post.test(id)).sort()).toMatchSnapshot();
});

test('every endpoint that sends a file is an export', () => {
  const files = audited.filter(({ id, path }) => /export/.test(id) || path.endsWith('.csv'));
  expect(files.map(({ id }) => id).filter((id) => !export_actions.includes(id))).toStrictEqual([]);
});
