import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import { installation_folder } from '../../catalog/installation.ts';
import { name_pattern } from '../../emr/declaration.ts';
import { connectors } from '../../emr/index.ts';
import { type JsonOption, printResult } from './output.ts';

/** What the build has written: the packed package that connectors import, and the template. */
const package_folder = join(installation_folder, 'dist/connector');
const name_length_max = 40;

/** Creates a folder with a working connector that is named like the folder. Never changes one that exists. */
export async function newConnectorCommand(folder: string, output: JsonOption): Promise<void> {
  const target = resolve(folder);
  const name = basename(target);
  if (!name_pattern.test(name) || name.length > name_length_max) {
    throw new StartFailure(
      `The folder is named like the connector: up to ${name_length_max} lower-case letters, digits, - and _, starting with a letter, such as my-emr.`,
    );
  }
  if (connectors.has(name)) throw new StartFailure(`${name} is a built-in connector. Choose another name.`);
  const archive = await findArchive();
  await createFolder(target);
  try {
    await copyTemplate(join(package_folder, 'template'), target, { name, archive });
    await copyFile(join(package_folder, archive), join(target, archive));
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    throw error;
  }
  const next = `cd ${folder} && npm install && npm run certify`;
  printResult(output, { name, folder: target }, `Created ${target}.\n\nNext: ${next}\nREADME.md there says more.\n`);
}

async function findArchive(): Promise<string> {
  const files = await readdir(package_folder).catch(() => []);
  const archive = files.find((file) => file.endsWith('.tgz'));
  if (archive === undefined) throw new StartFailure(`${package_folder} is missing. Build it: npm run build`);
  return archive;
}

async function createFolder(target: string): Promise<void> {
  try {
    await mkdir(target);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new StartFailure(`${target} exists already. Nothing was changed.`, { cause });
    if (code === 'ENOENT') throw new StartFailure(`${dirname(target)} does not exist. Create it first.`, { cause });
    throw new StartFailure(`${target} cannot be created (${code}).`, { cause });
  }
}

type Names = { name: string; archive: string };

async function copyTemplate(from: string, to: string, names: Names): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    // Git would apply a .gitignore to the template itself.
    const copy = join(to, entry.name === 'gitignore' ? '.gitignore' : entry.name);
    if (entry.isDirectory()) {
      await mkdir(copy);
      await copyTemplate(source, copy, names);
    } else {
      await writeFile(copy, fillIn(await readFile(source, 'utf8'), names));
    }
  }
}

/** The template is a connector for “Example EMR”. */
function fillIn(text: string, { name, archive }: Names): string {
  const words = name.split(/[-_]+/).map((word) => (word === 'emr' ? 'EMR' : capitalize(word)));
  return text
    .replaceAll('example-emr', name)
    .replaceAll('Example EMR', words.join(' ').trim())
    .replaceAll('ExampleEmr', words.map((word) => capitalize(word.toLowerCase())).join(''))
    .replaceAll('connector-package.tgz', archive);
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
