import { quoted } from '../../parts/shell.ts';
import { job_requests } from '../../service/api.gen.ts';
import type { Job } from '../../service/types.ts';

type JobRequest = { method: string; path: string; fields: readonly string[]; file_field: string | null };

/** The request of a job as a curl command, with placeholders for the credentials. Undefined for jobs without one. */
export function toCurl({ type, reference, input: stored }: Job): string | undefined {
  const request = (job_requests as Record<string, JobRequest>)[type];
  if (!request) return undefined;
  const { method, path, fields, file_field } = request;
  const input: Record<string, unknown> = { ...stored, reference };
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name] ?? name)));
  // The stored request also contains what was looked up for it.
  const sent = fields.flatMap((name) => (input[name] == null ? [] : [[name, input[name]] as const]));
  const content = file_field === null ? json(Object.fromEntries(sent)) : form(sent, file_field);
  return curl(method, url, content);
}

/** A curl command for a path of the API. */
export function curl(method: string, path: string, content: readonly string[] = []): string {
  return [
    `curl -X ${method} ${quoted(`${window.location.origin}${path}`)}`,
    ...['client_id', 'client_secret', 'access_token'].map((name) => `-H "${name}: $${name.toUpperCase()}"`),
    ...content,
  ].join(' \\\n  ');
}

function json(body: object): string[] {
  return [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`];
}

function form(fields: readonly (readonly [string, unknown])[], file_field: string): string[] {
  const texts = fields
    .filter(([name]) => name !== file_field)
    .map(([name, value]) => `--form-string ${quoted(`${name}=${value}`)}`);
  return [...texts, `-F ${quoted(`${file_field}=@FILE`)}`];
}
