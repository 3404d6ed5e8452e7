import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newFolder } from './sandbox.ts';

type Resource = Record<string, unknown>;

export function organization(id: string, name: string, fields: Resource = {}): Resource {
  return { resourceType: 'Organization', id, active: true, name, ...fields };
}

const version_extension = 'http://hl7.org/fhir/StructureDefinition/endpoint-fhir-version';

export function endpointAt(id: string, address: string, fields: Resource = {}): Resource {
  return {
    ...{ resourceType: 'Endpoint', id, status: 'active', address },
    connectionType: { coding: [{ code: 'hl7-fhir-rest' }] },
    extension: [{ url: version_extension, valueCode: '4.0.1' }],
    ...fields,
  };
}

export function inVersion(valueCode: string): Resource {
  return { extension: [{ url: version_extension, valueCode }] };
}

/** A User-access Brands bundle, as vendors publish it. */
export function brands(...resources: Resource[]): Resource {
  const entry = resources.map((resource) => ({
    fullUrl: `https://vendor.example.org/${resource.resourceType}/${resource.id}`,
    resource,
  }));
  return { resourceType: 'Bundle', type: 'collection', timestamp: '2031-03-03T00:00:00Z', entry };
}

export const at = (...ids: string[]) => ({ endpoint: ids.map((id) => ({ reference: `Endpoint/${id}` })) });
export const belongsTo = (id: string) => ({ partOf: { reference: `Organization/${id}` } });
export const inCity = (city: string, state: string) => ({ address: [{ city, state }] });

/** Writes a list to a file of its own. */
export async function writeList(content: unknown, name = 'list'): Promise<string> {
  const file = join(await newFolder(), name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}
