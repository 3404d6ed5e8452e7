import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { PublishedCard } from '../../scripts/pages/scoreCards.ts';
import { all_operations, type ScoreCard } from '../../src/emr/certification/report.ts';
import { connectors } from '../../src/emr/index.ts';
import { type Personality, personalities } from '../harness/fhir/personalities.ts';
import { certifyFhir, certifyLarkspur, certifyOpenEmr, chart_mrn } from './certifyShipped.ts';

/**
 * `npm run scorecards` certifies all subjects and writes the file. In `npm test`, `shippedConnectors.test.ts` certifies
 * the first three, which must equal their published cards.
 */
const write = process.env.SCORE_CARDS === 'write';

const file = resolve(import.meta.dirname, '../../docs/reference/score-cards.json');

type Subject = Pick<Personality, 'name' | 'title' | 'about'> & { emr: string; certify: () => Promise<ScoreCard> };

const subjects: readonly Subject[] = [
  {
    name: 'larkspur',
    title: 'Larkspur',
    about: 'The reference EMR.',
    emr: 'larkspur',
    certify: () => certifyLarkspur(),
  },
  {
    name: 'openemr',
    title: 'OpenEMR',
    about:
      'A test server that behaves as OpenEMR 7.0.2 was seen to. The connector has not been run against OpenEMR itself.',
    emr: 'openemr',
    certify: () => certifyOpenEmr(),
  },
  ...[
    { name: 'default', title: 'FHIR test server', about: 'The test server as it is by default.', switches: {} },
    ...personalities,
  ].map((personality) => ({
    name: personality.name,
    title: personality.title,
    about: personality.about,
    emr: 'fhir',
    certify: () => certifyFhir({ switches: personality.switches, patient_mrn: chart_mrn }),
  })),
];

describe('the score cards', () => {
  if (write) certifyAll();
  else test('are published for every personality and every operation', expectPublished);
});

function certifyAll(): void {
  const written: PublishedCard[] = [];
  afterAll(async () => {
    if (written.length === subjects.length) await writeFile(file, `${JSON.stringify(written, null, 2)}\n`);
  });
  test.for(subjects)('$title: what is offered works', { timeout: 900_000 }, async ({ certify, ...subject }) => {
    const card = await certify();
    expect(card.failed).toEqual([]);
    const failing = Object.entries(card.operations).filter(([, { state }]) => state === 'fails');
    expect(failing).toEqual([]);
    written.push({ ...subject, ...card });
  });
}

async function expectPublished(): Promise<void> {
  const published: PublishedCard[] = JSON.parse(await readFile(file, 'utf8'));
  const remedy = 'Run npm run scorecards';
  expect(
    published.map(({ name, title, about }) => ({ name, title, about })),
    remedy,
  ).toEqual(subjects.map(({ name, title, about }) => ({ name, title, about })));
  for (const { emr, name, operations, failed } of published) {
    const implemented = all_operations.filter((each) => connectors.get(emr)?.capabilities.includes(each));
    expect(Object.keys(operations), `${name}: ${remedy}`).toEqual(implemented);
    expect(failed, name).toEqual([]);
    expect(
      Object.values(operations).filter(({ state }) => state === 'fails'),
      name,
    ).toEqual([]);
  }
}
