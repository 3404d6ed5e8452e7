import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { StartFailure } from '../../catalog/errors.ts';

/** A backup contains all health data and may be kept for years: short passphrases can be guessed. */
const length_min = 12;

/**
 * The passphrase of a backup: the first line of a file, or typed on the terminal without being shown. `confirmed`: for a
 * new backup, it is typed twice and must be long enough.
 */
export async function readPassphrase(file: string | undefined, { confirmed }: { confirmed: boolean }): Promise<string> {
  const passphrase = file === undefined ? await typed('Passphrase: ') : await firstLine(file);
  if (!confirmed) return passphrase;
  if (passphrase.length < length_min) {
    throw new StartFailure(`The passphrase must have at least ${length_min} characters.`);
  }
  if (file === undefined && (await typed('Repeat it: ')) !== passphrase) {
    throw new StartFailure('The passphrases do not match.');
  }
  return passphrase;
}

async function firstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartFailure(`--passphrase-file: cannot read the file ${file}.`, { cause });
  });
  const [line = ''] = text.split(/\r?\n/);
  if (line === '') throw new StartFailure(`--passphrase-file: the first line of ${file} is empty.`);
  return line;
}

async function typed(question: string): Promise<string> {
  if (!process.stdin.isTTY) throw new StartFailure('A passphrase is required: --passphrase-file FILE');
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
