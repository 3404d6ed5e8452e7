import { StartFailure } from '../errors.ts';
import { type Environment, number, type Setting, sandbox } from './settingValues.ts';

/** A program that prints a master key, and the environment that it runs in. */
export type KeyCommand = {
  program: string;
  args: readonly string[];
  /** A function, so that the environment is not part of the values of the settings. */
  environment(): Environment;
};

/** The settings of the master keys, part of the settings catalogue. */
export const key_settings = {
  MASTER_KEY: {
    description:
      'Key that encrypts all other keys: 32 bytes, as 64 hexadecimal digits or base64. Generate one with: openssl rand -hex 32. Back it up, but not together with the database.',
    example: '<64 hexadecimal digits>',
    default: 'required when SANDBOX is off; otherwise generated into DATA_DIR/master.key',
    secret: true,
    parse: (value, env) => {
      if (value) return masterKey('MASTER_KEY', value);
      if (env.MASTER_KEY_COMMAND?.trim() || sandbox(env.SANDBOX?.trim(), env)) return undefined;
      throw new StartFailure('MASTER_KEY must be set when the sandbox is off. Generate one with: openssl rand -hex 32');
    },
  } satisfies Setting<Buffer | undefined>,
  MASTER_KEY_COMMAND: {
    description:
      'Program that prints the master key, such as the client of a key management service, an HSM or a vault; used instead of MASTER_KEY. It runs once at each start, without a shell and without the other secrets of these settings.',
    example: 'vault kv get -field=key secret/chartwire/master-key',
    default: 'none: MASTER_KEY is used',
    parse: keyCommand,
  } satisfies Setting<KeyCommand | undefined>,
  MASTER_KEY_PREVIOUS: {
    description: 'A second master key that is accepted during a rotation. SECURITY.md describes the steps.',
    example: '',
    default: 'none',
    secret: true,
    parse: (value) => (value ? masterKey('MASTER_KEY_PREVIOUS', value) : undefined),
  } satisfies Setting<Buffer | undefined>,
  MASTER_KEY_PREVIOUS_COMMAND: {
    description: 'Program that prints the second master key during a rotation; used instead of MASTER_KEY_PREVIOUS.',
    example: 'vault kv get -version=1 -field=key secret/chartwire/master-key',
    default: 'none: MASTER_KEY_PREVIOUS is used',
    parse: keyCommand,
  } satisfies Setting<KeyCommand | undefined>,
  MASTER_KEY_COMMAND_SECONDS: number(
    'Seconds after which MASTER_KEY_COMMAND or MASTER_KEY_PREVIOUS_COMMAND is ended and the start fails.',
    30,
    1,
    300,
  ),
} as const;

/** The value is not repeated in the error. `name`: the setting that it comes from. */
export function masterKey(name: string, value: string): Buffer {
  const key = /^[0-9a-f]{64}$/i.test(value) ? Buffer.from(value, 'hex') : Buffer.from(value, 'base64');
  if (key.length === 32) return key;
  throw new StartFailure(
    `${name} must be 32 bytes, written as 64 hexadecimal digits or as base64. Generate one with: openssl rand -hex 32`,
  );
}

/** The words of a command. Shell syntax is refused instead of being passed to the program as text. */
function keyCommand(value: string | undefined, env: Environment, name: string): KeyCommand | undefined {
  if (!value) return undefined;
  const words: string[] = [];
  let word: string | undefined;
  for (let rest = value; rest !== ''; ) {
    const match = /^(?:(\s+)|'([^']*)'|"([^"$`\\]*)"|([^\s'"\\|&;<>()$`*?~]+))/.exec(rest);
    if (!match) throw new StartFailure(`${name} ${describeFault(rest)}`);
    const [matched, space, ...texts] = match;
    if (space === undefined) word = (word ?? '') + texts.join('');
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
    rest = rest.slice(matched.length);
  }
  if (word !== undefined) words.push(word);
  const [program = '', ...args] = words;
  if (program === '') throw new StartFailure(`${name} must start with a program.`);
  return { program, args, environment: () => env };
}

function describeFault(rest: string): string {
  const [first = ''] = rest;
  if (first === "'" || (first === '"' && !rest.slice(1).includes('"'))) return 'has a quote that is not closed.';
  const [special = first] = first === '"' ? (/[$`\\]/.exec(rest) ?? []) : [];
  return `runs without a shell, which ${special} needs. Put it in single quotes, or write: sh -c '…'`;
}
