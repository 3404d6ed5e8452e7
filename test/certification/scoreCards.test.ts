import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { PublishedCard } from '../../scripts/pages/scoreCards.ts';
import { all_operations, type ScoreCard, scoreCard } from '../../src/certification/scoreCard.ts';
import { fhir } from '../../src/connectors/fhir/fhir.ts';
import { connectors } from '../../src/connectors/index.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { openFixture } from '../connectors/larkspur/fixture.ts';
import { assume, type Personality, personalities } from '../harness/fhir/personalities.ts';
import { startFhirServer } from '../harness/fhir/startFhirServer.ts';

/** `npm run scorecards` certifies all subjects and writes the file. `npm test` certifies the two named here. */
const write = process.env.SCORE_CARDS === 'write';
const in_every_run = ['tiny-pages', 'no-search-by-post'];

const file = resolve(import.meta.dirname, '../../docs/reference/score-cards.json');
const outbound = createOutbound({ sandbox: true, allow: [] });

type Subject = Pick<Personality, 'name' | 'title' | 'about'> & { emr: string; certify: () => Promise<ScoreCard> };

const subjects: readonly Subject[] = [
  {
    name: 'larkspur',
    title: 'Larkspur',
    about: 'The reference EMR.',
    emr: 'larkspur',
    certify: certifyLarkspur,
  },
  ...[
    { name: 'default', title: 'FHIR test server', about: 'The test server as it is by default.', switches: {} },
    ...personalities,
  ].map((personality) => ({
    name: personality.name,
    title: personality.title,
    about: personality.about,
    emr: 'fhir',
    certify: () => certifyFhir(personality),
  })),
];

describe('the score cards', () => {
  const written: PublishedCard[] = [];
  afterAll(async () => {
    if (write && written.length === subjects.length) {
      await writeFile(file, `${JSON.stringify(written, null, 2)}\n`);
    }
  });

  test.for(subjects.filter(({ name }) => write || in_every_run.includes(name)))(
    '$title: what is offered works',
    { timeout: 900_000 },
    async ({ certify, ...subject }) => {
      const card = await certify();
      expect(card.failed).toEqual([]);
      const failing = Object.entries(card.operations).filter(([, { state }]) => state === 'fails');
      expect(failing).toEqual([]);
      written.push({ ...subject, ...card });
    },
  );

  test.skipIf(write)('are published for every personality and every operation', async () => {
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
  });
});

async function certifyLarkspur(): Promise<ScoreCard> {
  const fixture = await openFixture({ small: true });
  try {
    const expire = (mode: string) => async () => void (await fixture.control('POST', '/sessions/expire', { mode }));
    return await scoreCard({
      connector: larkspur,
      address: fixture.emr.url,
      credentials: fixture.credentials,
      one_time_code: fixture.code,
      patient_mrn: fixture.emr.example.patient_mrn,
      outbound,
      writes: true,
      endSession: expire('session'),
      endLink: expire('link'),
    });
  } finally {
    await fixture.close();
  }
}

async function certifyFhir(personality: Pick<Personality, 'switches'>): Promise<ScoreCard> {
  const server = await startFhirServer({ data: 'small' });
  try {
    assume(server, personality);
    const { client_id, client_secret } = server.clients.confidential;
    return await scoreCard({
      connector: fhir,
      address: server.url,
      credentials: { way: 'client_secret', client_id, client_secret },
      // Writes are checked on servers that create no patients, too.
      patient_mrn: 'MB100001',
      outbound,
      writes: true,
      endSession: async () => server.expireTokens('access'),
      endLink: async () => {
        server.register({ client_id, client_secret: 'another one' });
        server.expireTokens('all');
      },
    });
  } finally {
    await server.close();
  }
}
