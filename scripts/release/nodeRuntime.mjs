/** Node as a component of a bill of materials, with the libraries that are compiled into it. npm does not list them. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Not software of its own: numbers of interfaces, and data. */
const not_libraries = ['node', 'modules', 'napi', 'unicode', 'tz', 'cldr'];

/** The one that runs this script. It is part of an image, and of no release folder: a server brings its own. */
export function nodeRuntime() {
  const { node: version } = process.versions;
  const purl = `pkg:generic/node@${version}`;
  const license = nodeLicense();
  const libraries = Object.entries(process.versions).filter(([name]) => !not_libraries.includes(name));
  return {
    type: 'platform',
    name: 'node',
    version,
    ...(license && { licenses: [{ license: { name: license } }] }),
    purl,
    'bom-ref': purl,
    components: libraries
      .map(([name, version]) => ({ name, version, purl: `pkg:generic/${name}@${version}` }))
      .map((each) => ({ type: 'library', ...each, 'bom-ref': `node/${each.purl}` })),
  };
}

/** The first words of the license that is installed with Node, from its archive or from a package of Debian. */
function nodeLicense() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const files = [
    join(prefix, 'LICENSE'),
    join(prefix, 'share/doc/nodejs/LICENSE'),
    join(prefix, 'share/doc/nodejs/copyright'),
  ];
  const file = files.find((each) => existsSync(each));
  if (file === undefined) return undefined;
  const text = readFileSync(file, 'utf8');
  // The archive starts: "Node.js is licensed for use as follows", and then has the text of the MIT License.
  if (/^Node\.js is licensed for use as follows/.test(text))
    return 'MIT, and those of its libraries (LICENSE of Node.js)';
  return /^License: (.+)$/m.exec(text)?.[1];
}
