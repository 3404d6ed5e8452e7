import type { CertificationTarget } from '../../src/emr/certification/environment.ts';
import { type ScoreCard, scoreCard } from '../../src/emr/certification/report.ts';
import { fhir } from '../../src/emr/fhir/fhir.ts';
import { larkspur } from '../../src/emr/larkspur/larkspur.ts';
import { openemr } from '../../src/emr/openemr/openemr.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import { openFixture } from '../connectors/larkspur/fixture.ts';
import type { PracticeSize } from '../harness/fhir/practice/sizes.ts';
import { type FaultSwitches, type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startOpenEmr } from '../harness/openemr/startOpenEmr.ts';

const outbound = createOutbound({ sandbox: true, allow: [] });

/** A seeded patient of the FHIR server. Named, so that writes are checked on servers that create no patients, too. */
export const chart_mrn = 'MB100001';

/** A chart without an MRN, whose id takes its place, and that was merged into the first patient's. */
const merged_mrn = 'pat-merged';

/** Certifies Larkspur's connector in full. */
export async function certifyLarkspur({ counts = {} }: Pick<CertificationTarget, 'counts'> = {}): Promise<ScoreCard> {
  // Orders still fill two pages. Reading all claims for each check took three quarters of the time.
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
      counts,
      endSession: expire('session'),
      endLink: expire('link'),
    });
  } finally {
    await fixture.close();
  }
}

type FhirRun = Pick<CertificationTarget, 'counts' | 'patient_mrn'> & {
  data?: PracticeSize;
  switches?: Partial<FaultSwitches>;
  /** Examines the server after the run. */
  examine?: (server: FhirServer) => Promise<void>;
};

/** Certifies the FHIR connector in full against a server with these habits. */
export async function certifyFhir({ data = 'small', switches = {}, examine, ...more }: FhirRun): Promise<ScoreCard> {
  const server = await startFhirServer({ data });
  try {
    Object.assign(server.faults, structuredClone(switches));
    const link = [{ other: { reference: 'Patient/pat-1' }, type: 'replaced-by' as const }];
    await server.storeUnchecked({ resourceType: 'Patient', id: merged_mrn, link });
    const { client_id, client_secret } = server.clients.confidential;
    const card = await scoreCard({
      connector: fhir,
      address: server.url,
      credentials: { way: 'client_secret', client_id, client_secret },
      outbound,
      writes: true,
      merged_mrn,
      endSession: async () => server.expireTokens('access'),
      endLink: async () => {
        server.register({ client_id, client_secret: 'another one' });
        server.expireTokens('all');
      },
      ...more,
    });
    await examine?.(server);
    return card;
  } finally {
    await server.close();
  }
}

/** Certifies OpenEMR's connector in full, signed in on the page of a server with the habits of OpenEMR 7.0.2. */
export async function certifyOpenEmr(): Promise<ScoreCard> {
  const server = await startOpenEmr();
  try {
    const { client_id, client_secret } = server.client;
    return await scoreCard({
      connector: openemr,
      address: server.url,
      credentials: { way: 'authorization_code', client_id, app_secret: client_secret },
      signInOnPage: (url) => server.signInOnPage(url),
      visit_types: [
        { code: '5', description: 'Office Visit', minutes: 15 },
        { code: '9', description: 'Established Patient', minutes: null },
      ],
      patient_mrn: 'OE-1001',
      outbound,
      writes: true,
      counts: { listPatients: 3, listLocations: 2, listStaff: 3, listProviders: 2 },
      endSession: async () => server.expireTokens('access'),
      endLink: async () => server.expireTokens('all'),
    });
  } finally {
    await server.close();
  }
}
