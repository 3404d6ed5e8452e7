import type { Connector, EmrEndpoint, Grant, PageSignIn, SignIn } from '../connector.ts';
import { createChanges } from '../fhir/lists.ts';
import {
  readCapabilityStatement,
  readSmartConfiguration,
  unexpectedEndpoint,
} from '../fhir/sign-in/authorizationServer.ts';
import { recordRequests } from '../fhir/sign-in/connectionReport.ts';
import { refreshCapabilities } from '../fhir/sign-in/probeServer.ts';
import { createPageSignIn, readClaims, signIn, signOut } from '../fhir/sign-in/signIn.ts';
import { credential_fields, sign_in_ways } from '../fhir/sign-in/signInWays.ts';
import { createClient, openSession } from '../fhir/transport/client.ts';
import { listCapabilities, listUnsupportedFields } from '../operations/operations.ts';
import { atFhir, refuseAddress } from './address.ts';
import { createLookups } from './operation.ts';
import { createSupportedOperations, not_offered, operations, supportedCapabilities } from './operations.ts';
import { mrn_rule } from './patientWrites.ts';
import { findTimezone } from './practice.ts';
import { createRestClient } from './rest.ts';

/** What a client must be registered with. OpenEMR refuses a registration with one scope that it does not know. */
const scopes = [
  'openid',
  'fhirUser',
  'offline_access',
  'api:oemr',
  'api:fhir',
  ...[
    'Patient',
    'Practitioner',
    'Encounter',
    'DocumentReference',
    'MedicationRequest',
    'Medication',
    'Organization',
  ].map((type) => `user/${type}.read`),
  ...['patient', 'appointment', 'encounter', 'soap_note', 'document'].flatMap((name) => [
    `user/${name}.read`,
    `user/${name}.write`,
  ]),
  'user/message.write',
  ...['facility', 'practitioner', 'user', 'list'].map((name) => `user/${name}.read`),
] as const;

/** REST writes need a person: OpenEMR grants a service nothing but reading by FHIR. */
const way = 'authorization_code';

const page = createPageSignIn((supported) => {
  // A list without the API's own scope is not complete.
  const listed = supported?.includes('api:oemr') ? supported : scopes;
  return scopes.filter((scope) => listed.includes(scope)).join(' ');
});

const page_sign_in: PageSignIn = {
  start: (endpoint, credentials, back) => page.start(atFhir(endpoint), credentials, back),
  finish: (endpoint, ...rest) => page.finish(atFhir(endpoint), ...rest),
};

export const openemr: Connector = {
  name: 'openemr',
  display_name: 'OpenEMR',
  credential_fields: credential_fields.filter(({ name }) => name === 'client_id' || name === 'app_secret'),
  sign_in_ways: sign_in_ways.filter(({ name }) => name === way),
  offeredWays: async (endpoint) => {
    const authority = await readSmartConfiguration(atFhir(endpoint));
    return authority && { ways: [way], sign_in_page: authority.authorization_endpoint };
  },
  unexpectedEndpoint: async (endpoint) => {
    if (!endpoint.pins) return undefined;
    const authority = await readSmartConfiguration(atFhir(endpoint));
    return authority && unexpectedEndpoint(atFhir(endpoint), authority);
  },
  describeServer: async (endpoint) => {
    await readCapabilityStatement(recordRequests(atFhir(endpoint)));
    return {};
  },
  page_sign_in,
  // The number of a new patient is the highest one plus one: of concurrent creates, OpenEMR refuses some with an error.
  limits: { parallel_max: 1, one_write_per_address: true },
  set_visit_types: {
    refuseCode: (code) => (/^\d{1,9}$/.test(code) ? undefined : 'must be the number of a calendar category.'),
  },
  unsupported_fields: listUnsupportedFields(operations),
  refuseAddress,
  signIn: async (endpoint, credentials, one_time_code, page_grant) => {
    const signed_in = await signIn(atFhir(endpoint), credentials, one_time_code, page_grant);
    return signed_in.outcome === 'signed_in' ? describeAccount(endpoint, signed_in) : signed_in;
  },
  signOut: (endpoint, access) => signOut(atFhir(endpoint), access),
  refreshCapabilities: async (endpoint, access, options) => {
    const refreshed = await refreshCapabilities(atFhir(endpoint), access, options);
    return refreshed && { grant: refreshed.grant, ...describeGrant(refreshed.grant) };
  },
  grant_facts: ['server'],
  capabilities: listCapabilities(operations),
  open: (endpoint, access) => {
    const at_fhir = atFhir(endpoint);
    const session = openSession(at_fhir, access);
    const client = createClient(at_fhir, { ...access, mrn_rule }, session);
    const timezone = access.timezone ?? 'UTC';
    const rest = createRestClient(endpoint, session);
    const emr = {
      fhir: { client, timezone, changes: createChanges(client) },
      rest,
      timezone,
      visit_types: access.visit_types ?? [],
      people: createLookups(rest),
      user_id: readClaims(access.grant.access_token ?? '').subject,
    };
    return createSupportedOperations(emr, access.grant);
  },
};

/** FHIR's locations include homes of patients, so that they do not tell the practice's time zone. */
async function describeAccount(
  endpoint: EmrEndpoint,
  { mrn_guess: _, ...signed_in }: Extract<SignIn, { outcome: 'signed_in' }>,
): Promise<SignIn> {
  const { grant } = signed_in;
  const timezone = await findTimezone(endpoint, grant.access_token ?? '');
  return { ...signed_in, timezone, ...describeGrant(grant) };
}

function describeGrant(grant: Grant) {
  return { capabilities: supportedCapabilities(grant), evidence: not_offered };
}
