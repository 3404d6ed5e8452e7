import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { version } from '../src/catalog/version.ts';
import { dereference } from '../src/http/openapi/describeSchema.ts';
import { composeOpenApi } from '../src/http/openapi/openApi.ts';
import { endpoints } from '../src/surfaces/api/endpoints.ts';
import { diagramFiles } from '../src/surfaces/docs/diagrams/diagrams.ts';
import { conformancePage } from './conformance.ts';
import { dashboardApi } from './dashboardApi.ts';
import { alertsPage } from './pages/alerts.ts';
import { emrsPage } from './pages/emrs.ts';
import { errorsPage } from './pages/errors.ts';
import { eventsPage } from './pages/events.ts';
import { failuresPage } from './pages/failures.ts';
import { promisesPage } from './pages/promises.ts';
import { schemaPage } from './pages/schema.ts';
import { readScoreCards, scoreCardPages } from './pages/scoreCards.ts';
import { envExample, settingsPage } from './pages/settings.ts';
import { readVendorServers } from './pages/vendors.ts';
import { pythonModule } from './sdk/python.ts';
import { typescriptResources, typescriptTypes } from './sdk/typescript.ts';

/** Writes every generated file. With --check (run by `npm test`) it only reports which files are out of date. */
const root = process.cwd();
const document = composeOpenApi(endpoints, { version, base_url: 'http://localhost:4000' });
const whole = dereference(document);
const score_cards = await readScoreCards(root);
const vendor_servers = await readVendorServers(root);
const readRuntime = (name: string) => readFile(join(root, 'scripts/sdk', name), 'utf8');
const files: Record<string, string> = {
  '.env.example': envExample(),
  ...Object.fromEntries(Object.entries(diagramFiles()).map(([name, text]) => [`docs/images/${name}`, text])),
  'docs/reference/settings.md': settingsPage(),
  'docs/reference/errors.md': errorsPage(whole),
  'docs/reference/events.md': eventsPage(whole),
  'docs/reference/alerts.md': alertsPage(),
  'docs/reference/failures.md': failuresPage(whole),
  'docs/reference/emrs.md': emrsPage(score_cards, vendor_servers),
  ...scoreCardPages(score_cards),
  'docs/reference/schema.md': await schemaPage(),
  'docs/reference/conformance.md': conformancePage(root),
  'docs/reference/promises.md': await promisesPage(root),
  'web/dashboard/service/api.gen.ts': await dashboardApi(),
  'sdk/src/generated/types.gen.ts': typescriptTypes(document),
  'sdk/src/generated/resources.gen.ts': typescriptResources(document),
  'sdk/python/chartwire.py': pythonModule(
    document,
    await readRuntime('runtime.py'),
    await readRuntime('asyncRuntime.py'),
  ),
  'docs/reference/openapi.json': `${JSON.stringify(document, null, 2)}\n`,
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
  process.stdout.write(stale.length > 0 ? `Written: ${stale.join(', ')}\n` : 'Everything is up to date.\n');
}
