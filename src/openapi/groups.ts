import { record_kinds } from '../model/records/kinds.ts';
import { pathOf } from '../model/records/recordKind.ts';

/** The groups of the reference, in its order. Paths of a record kind also belong to the group that the kind names. */
const groups: { name: string; description: string; paths?: RegExp }[] = [
  { name: 'Link', description: 'Connect a person’s EMR account and get its access token.', paths: /^\/link\// },
  {
    name: 'Telephone encounters',
    description: 'Record calls in a patient’s chart, with refill requests and follow-up actions.',
    paths: /^\/v1\/telephone-encounters/,
  },
  { name: 'Patients', description: 'Find, create, update and live-fetch patients.' },
  {
    name: 'Patient insurance',
    description: 'Add and change the insurance records of a patient.',
    paths: /^\/v1\/patients\/[^/]+\/insurances/,
  },
  {
    name: 'Appointments',
    description: 'See when providers are free, book and read appointments.',
    paths: /^\/v1\/availability/,
  },
  { name: 'Documents', description: 'File PDF and image documents in a chart.', paths: /^\/v1\/documents/ },
  { name: 'Claims and orders', description: 'Read billing and orders.' },
  {
    name: 'Practice',
    description: 'The people, places and lists of the practice, and the settings of the service for them.',
    paths: /^\/v1\/(settings|sync)/,
  },
  { name: 'Jobs', description: 'Follow the progress of a write.', paths: /^\/v1\/jobs/ },
  { name: 'Events', description: 'Read and resend events.', paths: /^\/v1\/webhook-events/ },
  { name: 'Webhooks', description: 'Register the addresses that events are sent to.', paths: /^\/v1\/webhook(\/|$)/ },
  { name: 'Sandbox', description: 'Available in sandbox mode only.', paths: /^\/sandbox\// },
];
const others = { name: 'More', description: 'Everything else.' };

export function groupOf(path: string): string {
  const kind = record_kinds.find((each) => `${path}/`.startsWith(`${pathOf(each)}/`));
  return groups.find(({ paths }) => paths?.test(path))?.name ?? kind?.group ?? others.name;
}

/** The groups that have a path, in the order of the reference. */
export function groupsOf(paths: readonly string[]): { name: string; description: string }[] {
  const used = new Set(paths.map(groupOf));
  return [...groups, others]
    .filter(({ name }) => used.has(name))
    .map(({ name, description }) => ({ name, description }));
}
