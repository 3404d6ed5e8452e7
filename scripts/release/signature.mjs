/** The signature of a release: one of OpenSSH, which Debian and macOS can verify without another program. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ScriptError } from '../install.mjs';

/** What a signature is for: it is not valid for anything else that the same key signs. */
const namespace = 'chartwire-release';

/** Before minutes are spent on a build. */
export function checkSigning(key, archive, commit) {
  if (archive === undefined) throw new ScriptError('--sign signs an archive: add --archive FILE.');
  if (!existsSync(key)) {
    throw new ScriptError(`--sign: there is no key file ${key}. Create one with: ssh-keygen -t ed25519 -f ${key}`);
  }
  if (commit === null || commit.endsWith('-modified')) {
    throw new ScriptError(
      'A release is signed only if it is built from a commit: commit or remove your changes first.',
    );
  }
}

/** OpenSSH asks for the passphrase, an agent or a security key, as with any other use of the key. */
export function signArchive(archive, key) {
  const args = ['-Y', 'sign', '-f', resolve(key), '-n', namespace, archive];
  const { error, status } = spawnSync('ssh-keygen', args, { stdio: ['inherit', 'ignore', 'inherit'] });
  if (error || status !== 0) throw new ScriptError(`The archive could not be signed. ${error?.message ?? ''}`);
  process.stdout.write(`${archive}.sig\n`);
}
