import type { IconName } from '../parts/Icon.tsx';
import type { Organization } from '../service/types.ts';
import type { PageEntry } from './pages.ts';

/** Something to jump to. */
export type PaletteItem = {
  id: string;
  label: string;
  hint?: string;
  icon: IconName;
  /** A path of the dashboard, a path of the service that opens in a new tab, or what the palette does itself. */
  target: { page: string } | { document: string } | { jobs_of: string } | { find_patients: string };
};
export type PaletteGroup = { label: string; items: PaletteItem[] };

/** A job by its number, an event or a request by its id. */
export function idItems(text: string, client_path: string | undefined): PaletteGroup {
  const items: PaletteItem[] = [];
  if (client_path && /^\d{1,15}$/.test(text)) {
    items.push({ id: 'job', label: `Job ${text}`, icon: 'jobs', target: { page: `${client_path}/jobs/${text}` } });
  }
  const id = readId(text);
  if (id !== undefined) {
    const target = { page: `/requests?search=${id}&request=${id}` };
    items.push({ id: 'request', label: 'Request with this ID', icon: 'requests', target });
  }
  if (id !== undefined && client_path) {
    const target = { page: `${client_path}/events/${id}` };
    items.push({ id: 'event', label: 'Event with this ID', icon: 'events', target });
  }
  return { label: 'Go to', items };
}

/** The chart of a patient, or the patient's jobs. */
export function patientItems(text: string, client_path: string | undefined): PaletteGroup {
  if (!client_path || text.length < 2 || readId(text) !== undefined) return { label: 'Patients', items: [] };
  const items: PaletteItem[] = [
    {
      id: 'patients',
      label: `Find patients: ${text}`,
      hint: 'Name, date of birth, phone or MRN',
      icon: 'records',
      target: { find_patients: text },
    },
  ];
  if (/^\S*\d\S*$/.test(text)) {
    items.push({ id: 'patient-jobs', label: `Jobs for MRN ${text}`, icon: 'jobs', target: { jobs_of: text } });
  }
  return { label: 'Patients', items };
}

function readId(text: string): string | undefined {
  const id = text.toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(id) ? id : undefined;
}

/** Parts of pages that people look for by name. */
const sections: { label: string; icon: IconName; path: string; per_client?: true; owner?: true }[] = [
  { label: 'Failed jobs', icon: 'jobs', path: '/jobs?state=unfixed', per_client: true },
  { label: 'Webhook endpoints', icon: 'events', path: '/events/endpoints', per_client: true },
  { label: 'Operators', icon: 'settings', path: '/settings/operators', owner: true },
  { label: 'Access review', icon: 'settings', path: '/settings/access', owner: true },
  { label: 'My account', icon: 'settings', path: '/settings/me' },
];

export function pageItems(
  text: string,
  pages: readonly PageEntry[],
  client_path: string | undefined,
  is_owner: boolean,
): PaletteGroup {
  const open = sections.filter(({ owner }) => !owner || is_owner);
  const items = [...pages, ...open].flatMap(({ label, icon, path, per_client }): PaletteItem[] => {
    if (!matches(label, text) || (per_client && !client_path)) return [];
    return [{ id: `page ${path}`, label, icon, target: { page: per_client ? `${client_path}${path}` : path } }];
  });
  return { label: 'Pages', items };
}

const accounts_max = 8;

export function accountItems(
  text: string,
  organizations: readonly Organization[],
  client_path: string | undefined,
): PaletteGroup {
  if (text === '' || !client_path) return { label: 'Accounts', items: [] };
  const items = organizations.flatMap(({ org_id, accounts }) =>
    accounts
      .filter(({ user_id, reference_id }) => matches(`${org_id} ${user_id} ${reference_id}`, text))
      .map(
        ({ id, user_id }): PaletteItem => ({
          id: `account ${id}`,
          label: `${org_id} · ${user_id}`,
          hint: 'Jobs for this account',
          icon: 'accounts',
          target: { page: `${client_path}/jobs?account_id=${id}` },
        }),
      ),
  );
  return { label: 'Accounts', items: items.slice(0, accounts_max) };
}

export function documentItems(text: string): PaletteGroup {
  const documents = [
    { label: 'API reference', document: '/docs/reference' },
    { label: 'Guides', document: '/docs' },
    { label: 'Failure codes', document: '/docs/reference/failures' },
    { label: 'OpenAPI document', document: '/openapi.json' },
  ];
  const items = documents
    .filter(({ label }) => matches(`${label} documentation`, text))
    .map(
      ({ label, document }): PaletteItem => ({
        id: document,
        label,
        hint: 'New tab',
        icon: 'note',
        target: { document },
      }),
    );
  return { label: 'Documentation', items };
}

function matches(label: string, text: string): boolean {
  return label.toLowerCase().includes(text.toLowerCase());
}
