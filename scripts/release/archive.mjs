/**
 * Packs a folder as .tar.gz, so that the same folder always gives the same bytes: files in the order of their names, one
 * modification time for all, no owners. GNU tar has options for that, the tar of macOS has not.
 */
import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { ScriptError } from '../install.mjs';

const block_bytes = 512;

/** `name`: of the folder in the archive. `modified_s`: seconds since 1970. `accepts`: the paths to pack; default: all. */
export async function packFolder(folder, file, { name, modified_s, accepts = () => true }) {
  const descriptor = openSync(file, 'w', 0o644);
  const gzip = createGzip({ level: 9 });
  try {
    const written = (async () => {
      for await (const chunk of gzip) writeSync(descriptor, chunk);
    })();
    for (const path of ['', ...listPaths(folder).filter(accepts)]) {
      for (const part of composeEntry(folder, path, { name, modified_s })) await write(gzip, part);
    }
    // The end of an archive.
    gzip.end(Buffer.alloc(2 * block_bytes));
    await written;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * All files, links and folders below. The order is that of their bytes, because readdir has another one in each file system,
 * with the content of a folder right after it: tar sets the time of a folder when it leaves it.
 */
export function listPaths(folder) {
  const key = (path) => Buffer.from(path.replaceAll('/', '\0'));
  return readdirSync(folder, { recursive: true }).sort((one, other) => Buffer.compare(key(one), key(other)));
}

function composeEntry(folder, path, { name, modified_s }) {
  const stats = lstatSync(join(folder, path));
  const path_in_archive = path === '' ? `${name}/` : `${name}/${path}${stats.isDirectory() ? '/' : ''}`;
  const common = { path: path_in_archive, modified_s };
  if (stats.isDirectory()) return [header({ ...common, mode: 0o755, type: '5' })];
  if (stats.isSymbolicLink()) {
    return [header({ ...common, mode: 0o777, type: '2', target: readlinkSync(join(folder, path)) })];
  }
  if (!stats.isFile()) throw new ScriptError(`${path} is neither a file, a folder nor a link.`);
  const content = readFileSync(join(folder, path));
  const padding = Buffer.alloc((block_bytes - (content.length % block_bytes)) % block_bytes);
  const mode = (stats.mode & 0o100) === 0 ? 0o644 : 0o755;
  return [header({ ...common, mode, type: '0', bytes: content.length }), content, padding];
}

/** In the format ustar of POSIX. */
function header({ path, mode, type, modified_s, bytes = 0, target = '' }) {
  const [name, prefix] = splitPath(path);
  const block = Buffer.alloc(block_bytes);
  const put = (text, at, length) => {
    if (Buffer.byteLength(text) > length) throw new ScriptError(`${path} is too long for the archive.`);
    block.write(text, at);
  };
  const octal = (value, digits) => `${value.toString(8).padStart(digits, '0')}\0`;
  put(name, 0, 100);
  put(octal(mode, 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  put(octal(bytes, 11), 124, 12);
  put(octal(modified_s, 11), 136, 12);
  put(type, 156, 1);
  put(target, 157, 100);
  put('ustar\0' + '00', 257, 8);
  put(prefix, 345, 155);
  // The sum of all bytes, with spaces in its own place.
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8);
  return block;
}

/** A path of more than 100 bytes is split at a slash. */
function splitPath(path) {
  if (Buffer.byteLength(path) <= 100) return [path, ''];
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    if (Buffer.byteLength(path.slice(at + 1)) <= 100 && at < path.length - 1)
      return [path.slice(at + 1), path.slice(0, at)];
  }
  return [path, ''];
}

function write(gzip, chunk) {
  return new Promise((resolve, reject) => gzip.write(chunk, (error) => (error ? reject(error) : resolve())));
}
