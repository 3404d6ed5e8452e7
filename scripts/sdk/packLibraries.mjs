/**
 * dist/packages: the client libraries as npm and pip install them, which the service serves. The same sources give the
 * same bytes.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { root } from '../install.mjs';
import { packFolder } from '../release/archive.mjs';

const folder = join(root, 'dist/packages');
const { version, description, license } = JSON.parse(readFileSync(join(root, 'sdk/package.json'), 'utf8'));
const python_module = 'sdk/python/chartwire.py';
/** The time that npm gives all files of a package: 26 October 1985. */
const modified_s = 499_162_500;

/** What the packages consist of besides the npm package's code. */
export const library_sources = [python_module, 'scripts/sdk/packLibraries.mjs'];

/** Relative to dist/. The names are those that pip requires. */
export const library_packages = [`packages/chartwire-${version}.tgz`, `packages/chartwire-${version}-py3-none-any.whl`];

/** Packs dist/sdk, which must be complete. */
export async function packLibraries() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const [npm_package, wheel] = library_packages.map((path) => join(root, 'dist', path));
  const accepts = (path) => !path.endsWith('.map') && !/^src(\/|$)/.test(path);
  await packFolder(join(root, 'dist/sdk'), npm_package, { name: 'package', modified_s, accepts });
  writeFileSync(wheel, composeWheel());
}

/** A wheel is a ZIP file with metadata (PEP 427). Its last file lists the hashes of the others. */
function composeWheel() {
  const info = `chartwire-${version}.dist-info`;
  const metadata = `Metadata-Version: 2.1
Name: chartwire
Version: ${version}
Summary: ${description}
License: ${license}
Requires-Python: >=3.9
Description-Content-Type: text/markdown

${readFileSync(join(root, 'sdk/README.md'), 'utf8')}`;
  const files = {
    // A package, because a single module cannot say that it has types (PEP 561).
    'chartwire/__init__.py': readFileSync(join(root, python_module)),
    'chartwire/py.typed': Buffer.alloc(0),
    [`${info}/LICENSE`]: readFileSync(join(root, 'LICENSE')),
    [`${info}/METADATA`]: Buffer.from(metadata),
    [`${info}/WHEEL`]: Buffer.from(
      'Wheel-Version: 1.0\nGenerator: chartwire\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    ),
  };
  const record = Object.entries(files).map(([path, content]) => {
    const hash = createHash('sha256').update(content).digest('base64url');
    return `${path},sha256=${hash},${content.length}\n`;
  });
  const list = `${info}/RECORD`;
  return composeZip({ ...files, [list]: Buffer.from(`${record.join('')}${list},,\n`) });
}

/** 1 January 1980, the oldest date that the format knows. */
const dos_date = (1 << 5) | 1;

function composeZip(files) {
  const parts = [];
  const entries = [];
  let offset = 0;
  for (const [path, content] of Object.entries(files)) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content, { level: 9 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt16LE(dos_date, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    // Made on Unix, so that the rights below count.
    entry.writeUInt16LE((3 << 8) | 20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE((0o100644 << 16) >>> 0, 38);
    entry.writeUInt32LE(offset, 42);
    entries.push(entry, name);
    const local = [Buffer.from('PK\x03\x04', 'latin1'), common, name, packed];
    parts.push(...local);
    offset += local.reduce((sum, { length }) => sum + length, 0);
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length / 2, 8);
  end.writeUInt16LE(entries.length / 2, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}
