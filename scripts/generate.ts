import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { endpoints } from '../src/api/endpoints.ts';
import { errorsOf, openApi } from '../src/api/openapi.ts';
import { settings } from '../src/config.ts';
import { connectors } from '../src/connectors/index.ts';
import { errors } from '../src/errors.ts';
import { events } from '../src/events.ts';
import { version } from '../src/version.ts';
import { ladder_ms } from '../src/webhooks/ladder.ts';
import { retry } from '../src/worker/backoff.ts';
import { conformancePage, readConformance } from './conformance.ts';

/**
 * Writes every file that is derived from the catalogues; with --check it only says which of them are out of date.
 * Run by `npm run generate` and, as a check, by `npm test`.
 */
const root = process.cwd();
const files: Record<string, string> = {
  '.env.example': envExample(),
  'docs/reference/settings.md': settingsPage(),
  'docs/reference/errors.md': errorsPage(),
  'docs/reference/events.md': eventsPage(),
  'docs/reference/emrs.md': emrsPage(),
  'docs/reference/conformance.md': conformancePage(await readConformance(root)),
  'docs/reference/openapi.json': `${JSON.stringify(openApi(endpoints, { version, base_url: 'http://127.0.0.1:4000' }), null, 2)}\n`,
};

const stale: string[] = [];
for (const [name, content] of Object.entries(files)) {
  const path = join(root, name);
  const present = await readFile(path, 'utf8').catch(() => '');
  if (present === content) continue;
  stale.push(name);
  if (process.argv.includes('--check')) continue;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}
const checking = process.argv.includes('--check');
if (checking && stale.length > 0) {
  process.stderr.write(`Out of date: ${stale.join(', ')}. Run: npm run generate\n`);
  process.exitCode = 1;
} else if (!checking) {
  process.stdout.write(stale.length > 0 ? `Written: ${stale.join(', ')}\n` : 'Everything was up to date.\n');
}

function envExample(): string {
  const lines = Object.entries(settings).map(
    ([name, { about, example, default: fallback }]) => `# ${about}\n# Default: ${fallback}\n#${name}=${example}\n`,
  );
  return `# Settings of Chartwire. Copy this file to .env and uncomment what you change; the environment wins over the file.\n\n${lines.join('\n')}`;
}

function settingsPage(): string {
  const rows = Object.entries(settings).map(
    ([name, { about, default: fallback }]) => `| \`${name}\` | ${cell(about)} | ${cell(fallback)} |`,
  );
  return page('Settings', [
    'Read from the environment, or from `.env` beside `package.json`. A malformed one stops the start with one sentence.',
    table(['Setting', 'What it does', 'Default'], rows),
  ]);
}

function errorsPage(): string {
  const rows = Object.entries(errors).map(([code, { status, message }]) => {
    const users = endpoints.filter((each) => errorsOf(each).includes(code as keyof typeof errors));
    const where =
      users.length === endpoints.length ? 'all' : users.map((each) => `\`${each.id}\``).join(', ') || 'any path';
    return `| \`${code}\` | ${status} | ${cell(message)} | ${users.length > 8 && users.length < endpoints.length ? `${users.length} endpoints` : where} |`;
  });
  return page('Errors', [
    'An error body is `{ "success": false, "message", "code", "request_id" }`, with `field` where one field is at fault. `login_required` alone has exactly `success`, `error` and `message`.',
    table(['Code', 'Status', 'Message', 'Endpoints'], rows),
  ]);
}

function eventsPage(): string {
  const sections = Object.entries(events).map(([type, { summary, names_job, data }]) => {
    const required = new Set<string>(data.required ?? []);
    const rows = Object.entries(data.properties).map(
      ([name, schema]) =>
        `| \`${name}\` | ${typeOf(schema)} | ${required.has(name) ? 'always' : 'only when it applies'} |`,
    );
    const job = names_job ? '' : '\n\nCarries no `job_id`.';
    return `## ${type}\n\n${summary}${job}\n\n${table(['Data field', 'Type', 'Present'], rows)}`;
  });
  const steps = ladder_ms.map((ms) => (ms === 0 ? 'at once' : duration(ms)));
  return page('Events', [
    'Every event is a POST with the body `{ id, object: "event", created, type, job_id, access_token_reference_id, data }`, signed as Standard Webhooks prescribe (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and with `cobalt-verification`, the hex HMAC-SHA256 of the raw body keyed with the newest secret.',
    `A delivery that fails is tried ${steps.join(', ')} after the try before it, each moved by up to 20 % either way; a receiver's \`Retry-After\` is honoured. Jobs whose EMR cannot be reached are tried again after ${duration(retry.first_ms)}, doubling to ${duration(retry.longest_ms)}, for ${duration(retry.total_ms)}.`,
    ...sections,
  ]);
}

function emrsPage(): string {
  const all = [...connectors.values()];
  const operations = [...new Set(all.flatMap((each) => each.offers))].sort();
  const rows = operations.map(
    (name) => `| \`${name}\` | ${all.map((each) => (each.offers.includes(name) ? 'yes' : 'no')).join(' | ')} |`,
  );
  return page('EMRs', [
    'What each supported EMR offers. A request that needs an operation an EMR lacks is refused at once.',
    table(['Operation', ...all.map((each) => `${each.display_name} (\`${each.name}\`)`)], rows),
    'Sign-in fields:',
    ...all.map(
      (each) => `- ${each.display_name}: ${each.credential_fields.map((field) => `\`${field.name}\``).join(', ')}`,
    ),
  ]);
}

function page(title: string, parts: string[]): string {
  return `# ${title}\n\n<!-- Generated by \`npm run generate\`; do not edit. -->\n\n${parts.join('\n\n')}\n`;
}

function table(head: string[], rows: string[]): string {
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...rows].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function typeOf(schema: unknown): string {
  const { type, anyOf, const: fixed } = schema as { type?: string; anyOf?: unknown[]; const?: unknown };
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  return fixed === undefined ? (type ?? 'any') : String(fixed);
}

function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000} s`;
  return ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
}
