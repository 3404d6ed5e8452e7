import { type Group, type GroupRow, groups } from '../../model/groups.ts';

/**
 * A page of the documentation. Its content is a Markdown file of the repository, the operations of groups of the API
 * reference, or the overview of the reference.
 */
export type DocPage = {
  path: string;
  title: string;
  /** One sentence, for llms.txt and search engines. */
  description: string;
  content: { file: string } | { groups: readonly Group[] } | 'overview';
};

export type Section = { title: string; pages: readonly DocPage[] };

/** The sections of the site in their order. Routes, sidebar, search and llms.txt are derived from this list. */
export const sections: readonly Section[] = [
  {
    title: 'Get started',
    pages: [
      guide('quickstart', 'Quickstart', 'From an empty machine to a first write and its event.', '/docs'),
      guide('concepts', 'Concepts', 'Accounts, jobs, events, order, idempotency and states.'),
      file('client-libraries', 'Client libraries', 'sdk/README.md', 'TypeScript and Python, without dependencies.'),
      guide('command-line', 'Command line', 'Commands, credentials and exit codes.'),
    ],
  },
  {
    title: 'Guides',
    pages: [
      guide('link', 'Link', 'Connect an EMR account from your application.'),
      guide('webhooks', 'Webhooks', 'Receive and verify events; retries, order and duplicates.'),
      guide('keep-a-copy', 'Keep a copy', 'Follow the changes of records with the change feed.'),
      guide('errors-and-retries', 'Errors and retries', 'What to retry, what to correct, and what to show to users.'),
      guide('correct-a-write', 'Correct a write', 'How a wrong payment, note or other record is corrected.'),
      guide('testing-with-larkspur', 'Testing with Larkspur', 'Make the sandbox EMR fail in the ways real ones do.'),
      guide('agents', 'AI agents', 'The API as Model Context Protocol tools, and the risks.'),
    ],
  },
  {
    title: 'EMRs',
    pages: [
      file('emrs', 'Supported EMRs', 'docs/reference/emrs.md', 'Operations and fields that each EMR supports.'),
      guide('fhir', 'FHIR', 'How to connect a FHIR R4 server, and what happens at linking.'),
      guide('fhir-sign-in', 'FHIR: sign-in', 'Which sign-in to choose, EMR apps, and where credentials may go.'),
      guide('fhir-reading', 'FHIR: reading', 'Capabilities, search plans, bulk export, syncs and the MRN.'),
      guide('fhir-mapping', 'FHIR: mapping and writing', 'What each record and write of the API is in FHIR.'),
      guide(
        'fhir-troubleshooting',
        'FHIR: troubleshooting',
        'Messages of failed links, and what is assumed of servers.',
      ),
      guide('openemr', 'OpenEMR', 'How to connect OpenEMR by its own API.'),
      guide('directory', 'Practice directory', 'Let people find their practice instead of asking for an EMR address.'),
    ],
  },
  {
    title: 'Operations',
    pages: [
      guide('going-live', 'Going live', 'From the release folder to production.'),
      guide('dashboard', 'Dashboard', 'Pages, roles and operator tasks.'),
      guide('operators', 'Operators and sign-in', 'Single sign-on with OpenID Connect, roles by claim, and passwords.'),
      guide('what-to-watch', 'What to watch', 'Metrics, traces, alerts and what to do about them.'),
      guide('alerts', 'Alerts', 'Email and webhooks to operators, quiet hours and the daily summary.'),
      guide('disclosures', 'Accounting of disclosures', 'Who received which data about a patient, for six years.'),
      guide('backups', 'Backups and upgrades', 'Backups, what to do after a restore, and new versions.'),
      guide(
        'retention',
        'Retention and legal holds',
        'What is deleted when, holds, the disposal report, and scanning documents.',
      ),
      guide('high-availability', 'High availability', 'Several processes, failover, PgBouncer, rolling restarts.'),
      guide('networks', 'Networks', 'Allowed networks, client certificates, and private authorities of EMRs.'),
      guide('reverse-proxy', 'Reverse proxy', 'HTTPS in front of the service, and TLS to the database.'),
      file('security', 'Security', 'SECURITY.md', 'Secrets, tenant isolation, audit log, reporting a vulnerability.'),
      guide(
        'security-answers',
        'Security questionnaires',
        'What hospitals ask, with short answers, mappings and a runbook for a breach.',
      ),
      reference('settings', 'Settings', 'All settings with their defaults.'),
      reference('alerts', 'Alert codes', 'Every alert with its cause and remedy.'),
    ],
  },
  {
    title: 'API reference',
    pages: [
      {
        path: '/docs/reference',
        title: 'Overview',
        description: 'Base URL, authentication, lists, limits, versions, and all operations.',
        content: 'overview',
      },
      ...groups.filter((each: GroupRow) => each.on_page_of === undefined).map(resource),
      reference('events', 'Event types', 'Every event with its fields and an example.'),
      reference('errors', 'Error codes', 'Every request error, and which ones to retry.'),
      reference('failures', 'Failure codes', 'Why an accepted write failed, and what to do about it.'),
      reference('changes', 'Changes', 'The history of /v1.'),
    ],
  },
  {
    title: 'Extending',
    pages: [
      guide('write-a-connector', 'Write a connector', 'Support another EMR.'),
      file('larkspur', 'Larkspur reference', 'docs/larkspur.md', 'The API, faults and seed data of the sandbox EMR.'),
    ],
  },
];

export const pages: readonly DocPage[] = sections.flatMap((section) => section.pages);

/** The address of a page's Markdown. */
export function markdownPath({ path }: DocPage): string {
  return path === '/docs' ? '/docs/quickstart.md' : `${path}.md`;
}

function guide(name: string, title: string, description: string, path = `/docs/${name}`): DocPage {
  return { path, title, description, content: { file: `docs/guides/${name}.md` } };
}

function file(name: string, title: string, path: string, description: string): DocPage {
  return { path: `/docs/${name}`, title, description, content: { file: path } };
}

function reference(name: string, title: string, description: string): DocPage {
  return { path: `/docs/reference/${name}`, title, description, content: { file: `docs/reference/${name}.md` } };
}

/** The page of a group, with the groups that are shown on it. */
function resource({ name, title = name, address, description }: GroupRow & { name: Group }): DocPage {
  const shown = groups.filter((each: GroupRow) => each.name === name || each.on_page_of === name);
  const path = `/docs/reference/${address ?? name.toLowerCase().replaceAll(' ', '-')}`;
  return { path, title, description, content: { groups: shown.map((each) => each.name) } };
}
