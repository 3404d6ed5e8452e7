export type GroupRow = {
  name: string;
  description: string;
  /** The title of its page, where the name alone would be unclear. */
  title?: string;
  /** The address of its page, where a page of a catalogue has that of its name. */
  address?: string;
  /** Shown on the page of another group. */
  on_page_of?: string;
};

/** Groups of the API reference, in its order. Every public endpoint declares the one it belongs to. */
export const groups = [
  { name: 'Link', description: 'Connect a user’s EMR account and get its access token.' },
  {
    name: 'Telephone encounters',
    description: 'Record calls in a patient’s chart, with refill requests and follow-up actions.',
  },
  { name: 'Patients', description: 'List patients as of the last sync, fetch them live, create and update them.' },
  {
    name: 'Patient insurance',
    description: 'List, add and update insurances of patients, and list eligibility checks.',
  },
  { name: 'Appointments', description: 'Find open times, book and retrieve appointments.' },
  { name: 'Documents', description: 'Upload PDF and image documents to a chart.' },
  { name: 'Billing', description: 'Post payments of patients to their ledger.' },
  { name: 'Notes', description: 'Add notes to visits and to charts.' },
  { name: 'Tasks', description: 'Create tasks about patients, and add notes to them.' },
  {
    name: 'Referrals',
    description:
      'List referrals as of the last sync, and create them with their documents, such as letters and reports.',
  },
  { name: 'Claims and orders', description: 'List claims and orders as of the last sync, and create claims.' },
  {
    name: 'Practice',
    description: 'Providers, locations, staff and code lists as of the last sync, and their settings.',
  },
  {
    name: 'Changes',
    title: 'Change feed',
    address: 'change-feed',
    description: 'Keep a copy of an organization’s records in step.',
  },
  { name: 'Jobs', description: 'Follow the progress of a write.' },
  { name: 'Events', address: 'webhook-events', description: 'List and resend events.' },
  { name: 'Webhooks', title: 'Webhook endpoints', description: 'Manage the endpoints that receive events.' },
  // Its only operation is a step of linking: on that page, its form can use the token of the previous step.
  { name: 'Sandbox', on_page_of: 'Link', description: 'Available in sandbox mode only.' },
] as const satisfies readonly GroupRow[];

export type Group = (typeof groups)[number]['name'];
