import type { ApiResponse } from '../../harness/api.ts';
import { documents } from '../../harness/documents.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';

/** Uploads a document as a browser form does; `undefined` omits a field, and a null `content` omits the file. */
export async function sendDocument(
  { sandbox }: Pick<TestSandbox, 'sandbox'>,
  fields: Record<string, string | undefined> = {},
  content: Buffer | null = documents.pdf,
  extra_headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const form = new FormData();
  const all = { folder_name: 'Letters', patient_mrn: sandbox.example.patient_mrn, ...fields };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) form.set(name, value);
  if (content) form.set('document', new Blob([new Uint8Array(content)]), 'letter.pdf');
  const { client_id, client_secret, access_token, base_url } = sandbox;
  const headers = { client_id, client_secret, access_token, ...extra_headers };
  const response = await fetch(`${base_url}/v1/documents`, { method: 'POST', headers, body: form });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
