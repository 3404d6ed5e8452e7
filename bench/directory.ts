import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { loadConfig } from '../src/catalog/settings/config.ts';
import { connectors } from '../src/emr/index.ts';
import { openDatabase } from '../src/platform/db/database.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { importFile } from '../src/product/directory/importPractices.ts';
import { searchPractices } from '../src/product/directory/searchPractices.ts';
import { startImport } from '../src/product/directory/sources.ts';
import { report } from './report.ts';

/**
 * Measures the directory of practices with a bundle as large as the largest one that is published: how fast it is
 * imported, and with how much memory; then how long searches take. Exit code 1 if a goal is missed.
 */
const organizations = 96_627;
const facilities_per_brand = 118;
const memory_mb_max = 350;
const search_ms_max = 50;
const repetitions = 40;

const firsts = [
  'Cedar',
  'Maple',
  'Oak',
  'River',
  'Lake',
  'Summit',
  'Valley',
  'Harbor',
  'Prairie',
  'Mountain',
  'Saint Mary’s',
];
const seconds = ['Grove', 'Hill', 'View', 'Creek', 'Point', 'Park', 'Ridge', 'Springs', 'Heights'];
const thirds = [
  'Clinic',
  'Family Medicine',
  'Hospital',
  'Medical Center',
  'Health',
  'Pediatrics',
  'Cardiology',
  'Urgent Care',
];
const cities = ['Portland', 'Austin', 'Boise', 'Salem', 'Dayton', 'Rochester', 'Springfield', 'Madison', 'Albany'];
const states = ['OR', 'TX', 'ID', 'Ohio', 'New York', 'IL', 'WI', 'California'];

const queries = [
  'c',
  'ce',
  'cedar',
  'clinic',
  'cedar grove',
  'health center',
  'hospital zebra',
  'saint mary',
  'rochester cardio',
  'unit 4711',
  'm p h',
];

function choose(list: readonly string[], n: number): string {
  return list[n % list.length] ?? '';
}

/** The text of a bundle. About 1 KB per organization, as vendors have addresses, identifiers and portals. */
async function* bundle(): AsyncGenerator<string> {
  yield '{"resourceType":"Bundle","type":"collection","timestamp":"2031-03-03T00:00:00Z","entry":[\n';
  for (let n = 0; n < organizations; n++) {
    const brand = Math.floor(n / facilities_per_brand);
    const is_brand = n % facilities_per_brand === 0;
    const named = [choose(firsts, n * 7), choose(seconds, n * 5), choose(thirds, n * 3)].join(' ');
    const resource = {
      ...{
        resourceType: 'Organization',
        id: `org-${n}`,
        active: true,
        name: is_brand ? `${named} System` : `${named} Unit ${n}`,
      },
      identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: String(1_000_000_000 + n) }],
      telecom: [{ system: 'url', value: `https://www.brand${brand}.example.org/locations/${n}` }],
      address: [
        {
          line: [`${n} Main Street`],
          city: choose(cities, n * 11),
          state: choose(states, n * 13),
          postalCode: '97201',
        },
      ],
      text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${'x'.repeat(400)}</div>` },
      ...(is_brand
        ? { alias: [`Brand ${brand}`], endpoint: [{ reference: `Endpoint/e-${brand}` }] }
        : { partOf: { reference: `Organization/org-${brand * facilities_per_brand}` } }),
    };
    yield `${JSON.stringify({ fullUrl: `https://vendor.example.org/Organization/org-${n}`, resource })},\n`;
  }
  const brands = Math.ceil(organizations / facilities_per_brand);
  for (let n = 0; n < brands; n++) {
    const address = `https://brand${n}.example.org/api/FHIR/R4/`;
    const resource = { resourceType: 'Endpoint', id: `e-${n}`, status: 'active', address };
    yield `${JSON.stringify({ resource })}${n === brands - 1 ? '' : ','}\n`;
  }
  yield ']}\n';
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const config = loadConfig({ DATA_DIR: join(folder, 'data'), SANDBOX: 'on', ALLOW_NOBODY: 'on' });
  const server = await openServer(config, () => {});
  const db = openDatabase(server.roles, 4);
  try {
    const file = join(folder, 'brands.json');
    // In another process, whose memory is not measured.
    await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), file]);
    const { size } = await stat(file);
    const size_text = `${Math.round(size / 1e6)} MB, ${organizations} organizations`;
    const importOnce = async () => {
      const current = await startImport(db.system, 'bench', null);
      if (!current) throw new Error('The list is being imported.');
      const start = performance.now();
      let peak_bytes = 0;
      const sample = setInterval(() => {
        peak_bytes = Math.max(peak_bytes, process.memoryUsage().rss);
      }, 20);
      const { practices } = await importFile({ db, config, connectors }, current, file, {
        etag: null,
        accept_removals: false,
      });
      clearInterval(sample);
      const seconds_taken = (performance.now() - start) / 1000;
      return { practices, peak_mb: peak_bytes / 2 ** 20, seconds_taken };
    };
    for (const work of ['first import of the directory', 'the same list again']) {
      const { practices, peak_mb, seconds_taken } = await importOnce();
      report({
        work,
        figure: `${Math.round(practices / seconds_taken)} practices/s, ${Math.round(peak_mb)} MB`,
        goal: `at most ${memory_mb_max} MB`,
        detail: `${size_text}: ${seconds_taken.toFixed(1)} s`,
      });
      if (practices !== organizations || peak_mb > memory_mb_max) process.exitCode = 1;
    }
    const [{ bytes } = { bytes: 0 }] = await db.system.pooled<{ bytes: number }[]>`
      SELECT (pg_total_relation_size('practices') + pg_total_relation_size('practice_words'))::float8 AS bytes`;
    report({
      work: 'the directory in the database',
      figure: `${Math.round(bytes / 1e6)} MB`,
      goal: '–',
      detail: size_text,
    });
    await measureSearches(db);
  } finally {
    await db.close();
    await server.release();
    await rm(folder, { recursive: true });
  }
}

async function measureSearches(db: ReturnType<typeof openDatabase>): Promise<void> {
  const client_id = '0'.repeat(32);
  for (const query of queries) {
    for (const state of [undefined, 'OR']) {
      const times: number[] = [];
      let results = 0;
      for (let n = 0; n < repetitions; n++) {
        const start = performance.now();
        results = (await searchPractices({ db }, client_id, { query, state })).length;
        times.push(performance.now() - start);
      }
      times.sort((a, b) => a - b);
      const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? Number.NaN;
      report({
        work: `search for “${query}”${state ? ` in ${state}` : ''}`,
        figure: `p50 ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms`,
        goal: `p95 at most ${search_ms_max} ms`,
        detail: `${results} results`,
      });
      if (at(0.95) > search_ms_max) process.exitCode = 1;
    }
  }
}

const [, , written_file] = process.argv;
if (written_file === undefined) await main();
else await pipeline(Readable.from(bundle()), createWriteStream(written_file));
