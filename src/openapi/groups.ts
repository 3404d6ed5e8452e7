/** The groups of the reference, in its order, with the first parts of the paths that belong to them. */
const groups: { name: string; description: string; paths: RegExp }[] = [
  { name: 'Link', description: 'Connect a person’s EMR account and get its access token.', paths: /^\/link\// },
  {
    name: 'Telephone encounters',
    description: 'Record calls in a patient’s chart, with refill requests and follow-up actions.',
    paths: /^\/v1\/telephone-encounters/,
  },
  {
    name: 'Patients',
    description: 'Find, create, update and live-fetch patients.',
    paths: /^\/v1\/patients(?!\/[^/]+\/insurances)/,
  },
  {
    name: 'Patient insurance',
    description: 'Add and change the insurance records of a patient.',
    paths: /^\/v1\/patients\/[^/]+\/insurances/,
  },
  {
    name: 'Appointments',
    description: 'See when providers are free, book and read appointments.',
    paths: /^\/v1\/(appointments|availability)/,
  },
  { name: 'Documents', description: 'File PDF and image documents in a chart.', paths: /^\/v1\/documents/ },
  { name: 'Claims and orders', description: 'Read billing and orders.', paths: /^\/v1\/(claims|orders)/ },
  {
    name: 'Practice',
    description: 'The people, places and lists of the practice, and settings of ours that go with them.',
    paths: /^\/v1\/(providers|locations|staff|pharmacies|.*-providers|visit-|settings|sync)/,
  },
  { name: 'Jobs', description: 'Follow what became of a write.', paths: /^\/v1\/jobs/ },
  { name: 'Events', description: 'Read and resend events.', paths: /^\/v1\/webhook-events/ },
  { name: 'Webhooks', description: 'Register the addresses that events are sent to.', paths: /^\/v1\/webhook(\/|$)/ },
  { name: 'Sandbox', description: 'Only there in sandbox mode.', paths: /^\/sandbox\// },
];
const others = { name: 'More', description: 'Everything else.' };

export function groupOf(path: string): string {
  return (groups.find((group) => group.paths.test(path)) ?? others).name;
}

/** The groups that have a path, in the order of the reference. */
export function groupsOf(paths: readonly string[]): { name: string; description: string }[] {
  const used = new Set(paths.map(groupOf));
  return [...groups, others]
    .filter(({ name }) => used.has(name))
    .map(({ name, description }) => ({ name, description }));
}
