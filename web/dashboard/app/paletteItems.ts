import type { IconName } from '../parts/Icon.tsx';
import type { Organization } from '../service/types.ts';
import type { PageEntry } from './pages.ts';
import { page_keys } from './Shortcuts.tsx';

/** Something to jump to. */
export type PaletteItem = {
  id: string;
  label: string;
  hint?: string;
  icon: IconName;
  /** A path of the dashboard, a path of the service that opens in a new tab, or what the palette does itself. */
  target:
    | { page: string }
    | { document: string }
    | { jobs_of: string }
    | { find_patients: string }
    | { run: () => void };
  /** The keys that do the same. */
  keys?: readonly string[];
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
  // Only when somebody looks for them: the list of pages is the menu.
  const open = text === '' ? [] : sections.filter(({ owner }) => !owner || is_owner);
  const items = [...pages, ...open].flatMap(({ label, icon, path, per_client }): PaletteItem[] => {
    if (!matches(label, text) || (per_client && !client_path)) return [];
    const key = page_keys[path];
    const target = { page: per_client ? `${client_path}${path}` : path };
    return [{ id: `page ${path}`, label, icon, target, ...(key && { keys: ['g', key] }) }];
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

/** What the palette does itself instead of going somewhere. */
export type PaletteAction = { label: string; hint?: string; icon: IconName; run: () => void };

export function actionItems(text: string, actions: readonly PaletteAction[]): PaletteGroup {
  const items = actions
    .filter(({ label }) => matches(label, text))
    .map(({ run, ...look }): PaletteItem => ({ ...look, id: `action ${look.label}`, target: { run } }));
  return { label: 'Actions', items };
}

/** An entry of the documentation's search index: a page, or a heading on it. */
export type DocumentEntry = { title: string; page: string; section: string; url: string };

const documents_max = 6;
const documents: readonly DocumentEntry[] = [
  { title: 'Guides', page: 'Guides', section: 'Documentation', url: '/docs' },
  { title: 'API reference', page: 'API reference', section: 'Documentation', url: '/docs/reference' },
  { title: 'OpenAPI document', page: 'OpenAPI document', section: 'Documentation', url: '/openapi.json' },
];

/** Pages and headings of the documentation whose names have all words; pages first. `docs` alone lists the main ones. */
export function documentItems(text: string, index: readonly DocumentEntry[]): PaletteGroup {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hasAll = (name: string) => words.every((word) => name.toLowerCase().includes(word));
  const own = documents.filter(({ title, section }) => hasAll(`${title} ${section} docs`));
  const rank = ({ title, page }: DocumentEntry) => (title === page ? 0 : hasAll(title) ? 1 : 2);
  const others = text.length < 2 ? [] : index.filter(({ title, page }) => hasAll(`${title} ${page}`));
  const ranked = [...own, ...others.toSorted((one, other) => rank(one) - rank(other))];
  const first = new Map(ranked.map((entry) => [entry.url, entry] as const).toReversed());
  const items = ranked
    .filter((entry) => first.get(entry.url) === entry)
    .slice(0, documents_max)
    .map(
      ({ title, page, section, url }): PaletteItem => ({
        id: url,
        label: title,
        hint: title === page ? section : page,
        icon: 'book',
        target: { document: url },
      }),
    );
  return { label: 'Documentation', items };
}

function matches(label: string, text: string): boolean {
  return label.toLowerCase().includes(text.toLowerCase());
}
