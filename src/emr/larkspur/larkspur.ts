import type { Connector } from '../connector.ts';
import {
  createOperations,
  listCapabilities,
  listRequiredFields,
  listUnsupportedFields,
} from '../operations/operations.ts';
import { appointment_operations } from './appointments.ts';
import { billing_operations } from './billing.ts';
import { code_list_operations } from './changes.ts';
import { chart_operations } from './chart.ts';
import { claim_operations } from './claims.ts';
import { eligibility_operations } from './eligibility.ts';
import { encounter_operations } from './encounters.ts';
import { guarantor_operations } from './guarantors.ts';
import { insurance_operations } from './insurances.ts';
import { note_operations } from './notes.ts';
import type { LarkspurOperation } from './operation.ts';
import { order_operations } from './orders.ts';
import { organization_operations } from './organizations.ts';
import { patient_operations } from './patients.ts';
import { patient_write_operations } from './patientWrites.ts';
import { provider_operations } from './providers.ts';
import { referral_operations } from './referrals.ts';
import { checkProduct, openSession, signIn, signOut } from './session.ts';
import { task_operations } from './tasks.ts';

const operations: readonly LarkspurOperation[] = [
  ...provider_operations,
  ...organization_operations,
  ...patient_operations,
  ...patient_write_operations,
  ...appointment_operations,
  ...claim_operations,
  ...billing_operations,
  ...order_operations,
  ...eligibility_operations,
  ...code_list_operations,
  ...chart_operations,
  ...encounter_operations,
  ...guarantor_operations,
  ...insurance_operations,
  ...task_operations,
  ...referral_operations,
  ...note_operations,
];

export const larkspur: Connector = {
  name: 'larkspur',
  display_name: 'Larkspur',
  credential_fields: [
    { name: 'username', label: 'Username', secret: false, autocomplete: 'username' },
    { name: 'password', label: 'Password', secret: true, autocomplete: 'current-password' },
  ],
  limits: { parallel_max: 4 },
  unsupported_fields: listUnsupportedFields(operations),
  required_fields: listRequiredFields(operations),
  // The parser gives every address a path of '/', and shows the '?' of an empty query only in `href`.
  refuseAddress: (url) =>
    url.pathname === '/' && !url.href.includes('?') ? undefined : 'must be the address of the practice without a path.',
  describeServer: async (endpoint) => {
    await checkProduct(endpoint);
    return { capabilities: listCapabilities(operations) };
  },
  code_digits: 6,
  sandbox_codes_path: '/codes',
  signIn,
  signOut,
  capabilities: listCapabilities(operations),
  open: (endpoint, access) => createOperations(operations, openSession(endpoint, access)),
};
