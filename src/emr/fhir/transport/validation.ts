import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../emrFailure.ts';
import { list } from '../values.ts';
import { toRejection } from './call.ts';
import { buildUrl, type Server } from './server.ts';

/**
 * Asks the server whether it would accept a record, where it declares `$validate`. Throws its refusal. A server that does
 * not answer the question says nothing about the record.
 */
export async function validate(server: Server, resource: fhir.FhirResource, mode: 'create' | 'update'): Promise<void> {
  const type = resource.resourceType;
  if (!server.capabilities.validates(type)) return;
  const body: fhir.Parameters = {
    resourceType: 'Parameters',
    parameter: [
      { name: 'mode', valueCode: mode },
      { name: 'resource', resource },
    ],
  };
  const url = new URL(`${buildUrl(server.base, type).href}/$validate`);
  const response = await server.request({ method: 'POST', url, body });
  const outcome = response.resource;
  if (outcome?.resourceType !== 'OperationOutcome') return;
  const refused = list(outcome.issue).some(({ severity }) => severity === 'error' || severity === 'fatal');
  // 404, 405 and 501 are about the operation, and 401 and 403 about the account.
  const about_record = response.status === 200 || response.status === 400 || response.status === 422;
  if (!refused || !about_record) return;
  const { message, code } = toRejection({ ...response, status: 422 }, type);
  throw new EmrFailure('refused', message, { code });
}
