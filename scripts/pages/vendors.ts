import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectors } from '../../src/emr/index.ts';
import { code, table } from './markdown.ts';

/**
 * What an account can do at a server like this vendor's, in `vendor-servers.json`, which `npm run scorecards` writes. Of
 * the operations that are offered, those in `exercised` were also used.
 */
export type VendorServer = { name: string; title: string; offered: string[]; exercised: string[] };

export async function readVendorServers(root: string): Promise<VendorServer[]> {
  return JSON.parse(await readFile(join(root, 'docs/reference/vendor-servers.json'), 'utf8'));
}

/** Operation × vendor. */
export function vendorMatrix(servers: readonly VendorServer[]): string {
  const names = [...new Set(servers.flatMap(({ offered }) => offered))].filter((name) => !name.includes('.')).sort();
  const cell = ({ offered, exercised }: VendorServer, name: string) =>
    exercised.includes(name) ? 'works' : offered.includes(name) ? 'supported' : '–';
  const rows = names.map((name) => [code(name), ...servers.map((server) => cell(server, name))]);
  return table(['Operation', ...servers.map(({ title }) => `${title} (documents)`)], rows);
}

/** Whether a sign-in is signed with the keys of a client. */
function needsKeys(emr: string, way: string): boolean {
  const ways = connectors.get(emr)?.sign_in_ways ?? [];
  return ways.some(({ name, must_register }) => name === way && must_register === 'key_set');
}

/** What `app.json` needs instead of the preset's. */
function tokenEndpoint({ token_endpoint }: { token_endpoint?: string }): string {
  return token_endpoint === undefined ? '' : `, with the \`token_endpoint\` ${code(token_endpoint)}`;
}

/** How to see for oneself: the public sandbox of each vendor, and the command that checks it. */
export function sandboxTable(): string {
  const known = [...connectors.values()].flatMap(({ name, presets = [] }) =>
    presets.map((preset) => ({ emr: name, ...preset })),
  );
  const rows = known.map(({ emr, title, basis, sandbox, way }) => [
    title,
    basis,
    sandbox ? `${sandbox.title}: ${code(sandbox.address)}${tokenEndpoint(sandbox)}` : 'none known',
    sandbox
      ? code(
          `./chartwire connectors certify ${emr} --address ${sandbox.address} --credentials-file app.json${needsKeys(emr, way) ? ' --client <client_id>' : ''}`,
        )
      : '–',
  ]);
  return table(['Vendor', 'Known from', 'Sandbox', 'Check'], rows);
}
