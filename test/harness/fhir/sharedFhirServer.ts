import { afterAll, afterEach, beforeAll } from 'vitest';
import { type FhirServer, type FhirServerOptions, startFhirServer } from './startFhirServer.ts';

/** The FHIR server of a test file: it starts before the first test, and each test finds its default behavior. */
export function sharedFhirServer(options: FhirServerOptions = {}): FhirServer {
  let started: FhirServer | undefined;
  beforeAll(async () => {
    started = await startFhirServer(options);
  });
  afterEach(() => started?.reset());
  afterAll(() => started?.close());
  const current = () => {
    if (!started) throw new Error('The FHIR server starts before the first test.');
    return started;
  };
  // A file names its server before it has started, and uses it only afterwards.
  return new Proxy({} as FhirServer, { get: (_, name) => Reflect.get(current(), name) });
}
