import type * as fhir from 'fhir/r4.js';
import { toRejection } from './call.ts';
import { buildUrl, type Server, toWriteRefusal } from './server.ts';

/** An operation of a type: `Appointment/$find`. `writes`: it changes a chart. */
export type TypeOperation = {
  type: fhir.FhirResource['resourceType'];
  name: string;
  parameters: fhir.ParametersParameter[];
  writes?: boolean;
};

/** Calls an operation by POST, so that its parameters do not appear in URLs. Returns what it returned, if that is FHIR. */
export async function operate(
  server: Server,
  { type, name, parameters, writes = false }: TypeOperation,
): Promise<fhir.FhirResource | undefined> {
  const url = new URL(`${buildUrl(server.base, type).href}/$${name}`);
  const body: fhir.Parameters = { resourceType: 'Parameters', parameter: parameters };
  const response = await server.request({ method: 'POST', url, body, returns: 'list', writes });
  if (response.status < 400) return response.resource;
  // 404 may be about a record that the parameters name.
  const about_record = response.status === 404 || response.status === 410;
  throw writes && !about_record ? await toWriteRefusal(server, type, 'create', response) : toRejection(response, type);
}
