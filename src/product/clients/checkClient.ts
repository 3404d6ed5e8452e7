import { apiError } from '../../catalog/errors.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';
import type { ClientChanges } from '../../model/dashboard/settings.ts';

/** Validates what the schema cannot express and throws on the first error. Returns the settings in canonical form. */
export function checkClient(changes: ClientChanges): ClientChanges {
  const checked = { ...changes };
  if (changes.callback_urls) checked.callback_urls = changes.callback_urls.map(checkCallback);
  if (changes.frame_origins) checked.frame_origins = changes.frame_origins.map(readOrigin);
  if (typeof changes.colour === 'string') checked.colour = readColour(changes.colour);
  if (typeof changes.logo === 'string') checkLogo(changes.logo);
  return checked;
}

function checkCallback(url: string): string {
  if (/^https?:$/.test(parseUrl(url)?.protocol ?? '')) return url;
  throw invalid('callback_urls', `must be URLs that start with https:// or http://, not '${url}'`);
}

/** An origin consists of scheme, host and port, which is all that browsers compare. */
function readOrigin(text: string): string {
  const origin = parseUrl(text)?.origin ?? 'null';
  if (origin !== 'null' && [origin, `${origin}/`].includes(text.toLowerCase())) return origin;
  throw invalid('frame_origins', `must be origins such as https://app.example.org, not '${text}'`);
}

function readColour(text: string): string {
  if (/^#[0-9a-f]{6}$/i.test(text)) return text.toLowerCase();
  throw invalid('colour', `must be written as #rrggbb, not '${text}'`);
}

const logo_bytes_max = 65_536;

/** A `data:` URL of a picture. */
export function checkLogo(logo: string): void {
  const [, data] = /^data:image\/(?:png|jpeg|svg\+xml);base64,([A-Za-z0-9+/]+=*)$/.exec(logo) ?? [];
  if (data === undefined) throw invalid('logo', 'must be a PNG, JPEG or SVG file');
  if (Buffer.byteLength(data, 'base64') > logo_bytes_max) throw invalid('logo', 'must be a file of at most 64 KB');
}

function invalid(field: keyof ClientChanges, rule: string): Error {
  return apiError('invalid_field', { rule: `${field} ${rule}` }, { field });
}
