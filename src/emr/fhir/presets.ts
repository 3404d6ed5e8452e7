import type { EmrPreset } from '../connector.ts';
import { same_host } from '../endpointPins.ts';

const from_documents = { basis: 'documents' } as const;
const defaults = {
  ...{ token_endpoint: same_host, tenant_path: null, sandbox: null },
  ...{ scope: null, headers: {}, search_params: {}, bulk_group: null },
  requests_counted_per: 'address' as 'address' | 'app',
} as const;

const key_set_step =
  'Register the key set URL of this app, which is shown after saving. It must be reachable from the EMR.';
const redirect_step = 'Register the redirect URI of this app, which is shown after saving.';

/** US Core types without `Group`: some servers refuse a client that asks for both. */
const read_scopes = [
  ...['AllergyIntolerance', 'Condition', 'Coverage', 'DiagnosticReport', 'DocumentReference', 'Encounter', 'Location'],
  ...['MedicationRequest', 'Observation', 'Organization', 'Patient', 'Practitioner', 'PractitionerRole'],
  ...['RelatedPerson', 'ServiceRequest'],
];
/** In SMART v2 notation. Oracle lists both, and about 300 scopes, of which an app is registered for some. */
const oracle_scope = [
  ...['Patient', 'Appointment', 'Coverage', 'RelatedPerson', 'Communication', 'Encounter'].map(
    (type) => `${type}.crus`,
  ),
  ...['DocumentReference', 'MedicationRequest', 'Slot'].map((type) => `${type}.crus`),
  ...['Practitioner', 'Location', 'Organization', 'Schedule', 'AllergyIntolerance', 'Condition'].map(
    (type) => `${type}.rs`,
  ),
  ...['DiagnosticReport', 'Observation', 'ServiceRequest', 'Account', 'Binary'].map((type) => `${type}.rs`),
]
  .map((scope) => `system/${scope}`)
  .join(' ');
const readScope = (level: 'system' | 'user') => read_scopes.map((type) => `${level}/${type}.read`).join(' ');

export const presets: readonly EmrPreset[] = [
  {
    ...{ ...defaults, ...from_documents },
    name: 'epic',
    title: 'Epic',
    way: 'backend_services',
    address: 'https://<host of the organization>/…/api/FHIR/R4',
    hosts: [],
    steps: [
      'Create the app at fhir.epic.com (Build Apps) for backend systems, with the R4 APIs that you need.',
      key_set_step,
      'Ask each organization to map the client ID to a user of its own. Before that, no token is issued.',
      'Add the host of each organization here. A production app cannot be edited at Epic, except for its URLs.',
    ],
    sandbox: {
      title: 'Epic on FHIR sandbox',
      address: 'https://fhir.epic.com/interconnect-fhir-oauth/api/FHIR/R4',
    },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'oracle',
    title: 'Oracle Health (Millennium)',
    way: 'backend_services',
    address: 'https://fhir-ehr.cerner.com/r4/<tenant>',
    hosts: ['fhir-ehr.cerner.com'],
    token_endpoint:
      'https://authorization.cerner.com/tenants/{tenant}/hosts/fhir-ehr.cerner.com/protocols/oauth2/profiles/smart-v1/token',
    tenant_path: '/r4/{tenant}',
    scope: oracle_scope,
    steps: [
      'Register a system app in the code Console of Oracle Health, with the SMART v2 scopes of this form. Remove here what it is not registered for.',
      key_set_step,
      'Ask each organization to enable the app for its tenant.',
    ],
    sandbox: {
      title: 'Oracle Health sandbox',
      address: 'https://fhir-ehr-code.cerner.com/r4/ec2458f2-1e24-41c8-b71b-0e701af7583d',
      token_endpoint:
        'https://authorization.cerner.com/tenants/{tenant}/hosts/fhir-ehr-code.cerner.com/protocols/oauth2/profiles/smart-v1/token',
    },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'athenahealth',
    title: 'athenahealth (athenaOne)',
    way: 'backend_services',
    address: 'https://api.platform.athenahealth.com/fhir/r4',
    hosts: ['api.platform.athenahealth.com'],
    search_params: { 'ah-practice': '' },
    scope: readScope('system'),
    steps: [
      'Create an app in the athenahealth Developer Portal for two-legged access, with the FHIR R4 scopes.',
      key_set_step,
      'All practices share one address: name the practice in search_params of the link token, such as {"ah-practice": "Organization/a-1.Practice-1959"}.',
    ],
    sandbox: {
      title: 'athenahealth preview',
      address: 'https://api.preview.platform.athenahealth.com/fhir/r4',
    },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'eclinicalworks',
    title: 'eClinicalWorks',
    way: 'backend_services',
    address: 'https://fhir4.eclinicalworks.com/fhir/r4/<practice code>',
    hosts: ['fhir4.eclinicalworks.com'],
    token_endpoint: 'https://oauthserver.eclinicalworks.com/oauth/oauth2/token',
    tenant_path: '/fhir/r4/{tenant}',
    scope: readScope('system'),
    steps: [
      'Register a backend app in the eClinicalWorks developer portal. Keys must be RS384.',
      key_set_step,
      'Ask eClinicalWorks to allow the key set URL, and each practice to activate the app.',
      'For bulk export register a second app: it needs system/Group.read, which this one must not request.',
    ],
    // Named by integrators, not by the vendor's public pages.
    sandbox: {
      title: 'eClinicalWorks sandbox',
      address: 'https://staging-fhir.ecwcloud.com/fhir/r4/FFBJCD',
      token_endpoint: 'https://staging-oauthserver.ecwcloud.com/oauth/oauth2/token',
    },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'nextgen',
    title: 'NextGen Enterprise',
    way: 'authorization_code',
    address: 'https://fhir.nextgen.com/nge/prod/fhir-api-r4/fhir/R4',
    hosts: ['fhir.nextgen.com'],
    scope: 'openid fhirUser offline_access user/*.*',
    steps: [
      'Register the app in the NextGen developer portal. It is active after an administrator has approved it.',
      redirect_step,
      'The practice is chosen on the sign-in page. A refresh token must be used within 48 hours: sync at least daily.',
    ],
    // Named by integrators: the sandbox is one of the practices on the sign-in page.
    sandbox: { title: 'NextGen sandbox practice', address: 'https://fhir.nextgen.com/nge/prod/fhir-api-r4/fhir/R4' },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'meditech',
    title: 'MEDITECH',
    way: 'authorization_code',
    address: 'https://<host of the organization>/v2/uscore/STU6',
    hosts: [],
    steps: [
      'Register the app with each organization’s MEDITECH Greenfield administrator.',
      redirect_step,
      'Add the host of each organization here.',
    ],
    sandbox: { title: 'MEDITECH Greenfield', address: 'https://greenfield-prod-apis.meditech.com/v2/uscore/STU6' },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'veradigm',
    title: 'Veradigm',
    way: 'authorization_code',
    address: 'https://fhir.fhirpoint.open.allscripts.com/fhirroute/fhir/<number>',
    hosts: ['fhir.fhirpoint.open.allscripts.com'],
    tenant_path: '/fhirroute/fhir/{tenant}',
    steps: ['Register the app in the Veradigm developer program.', redirect_step, 'The API is read-only.'],
    // Named by integrators.
    sandbox: {
      title: 'Veradigm sandbox',
      address: 'https://fhir.fhirpoint.open.allscripts.com/fhirroute/fhir/CP00101',
    },
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'modmed',
    title: 'ModMed (EMA)',
    way: 'client_secret',
    address: 'https://<host>/<firm>/ema/fhir/v2',
    hosts: [],
    headers: { 'x-api-key': '' },
    // 1,250 requests per minute and key.
    requests_counted_per: 'app',
    tenant_path: '/{tenant}',
    steps: [
      'Ask ModMed for API access to each firm: client ID, secret, host and API key come by contract.',
      'Add the host here, and the API key as the header x-api-key.',
    ],
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'advancedmd',
    title: 'AdvancedMD',
    way: 'authorization_code',
    address: 'https://providerapi.advancedmd.com/v1/r4/<ID of the organization>',
    hosts: ['providerapi.advancedmd.com'],
    tenant_path: '/v1/r4/{tenant}',
    steps: ['Register the app in the AdvancedMD developer portal.', redirect_step, 'The API is read-only.'],
  },
  {
    ...{ ...defaults, ...from_documents },
    name: 'canvas',
    title: 'Canvas Medical',
    way: 'client_secret',
    address: 'https://fumage-<instance>.canvasmedical.com',
    hosts: [],
    token_endpoint: 'https://<instance>.canvasmedical.com/auth/token/',
    steps: [
      'Create an OAuth application in the instance’s settings (Authentication), for client credentials.',
      'Replace <instance> in the token endpoint, and add the host fumage-<instance>.canvasmedical.com here.',
    ],
  },
];
