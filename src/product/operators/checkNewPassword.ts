import { apiError } from '../../catalog/errors.ts';

const length = { min: 12, max: 128 };

/** Throws `invalid_field` if a password is too short or long, easy to guess, or the operator's name or email address. */
export async function checkNewPassword(
  password: string,
  { email, name }: { email: string; name: string },
  field: string,
): Promise<void> {
  const rule = ruleBroken(
    password.normalize('NFKC'),
    [email, email.split('@')[0] ?? '', name],
    await commonPasswords(),
  );
  if (rule !== undefined) throw apiError('invalid_field', { rule: `The new password ${rule}` }, { field });
}

function ruleBroken(password: string, own: string[], common: ReadonlySet<string>): string | undefined {
  const characters = [...password].length;
  if (characters < length.min) return `must have at least ${length.min} characters`;
  if (characters > length.max) return `can have at most ${length.max} characters`;
  const spellings = [fold(password), undecorated(password)];
  if (own.some((each) => each !== '' && spellings.includes(fold(each)))) {
    return 'must not be your name or email address';
  }
  if (spellings.some((each) => common.has(each))) return 'is easy to guess. Choose one that fewer people use';
  return undefined;
}

/** Few common passwords have 12 characters. People extend them with digits and punctuation: `Sunshine2026!`. */
function undecorated(password: string): string {
  return fold(password).replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

let loaded: Promise<ReadonlySet<string>> | undefined;

/** 49,000 passwords. Loaded when the first password is set: most processes and commands never need them. */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].map((each) => each.toLowerCase())),
  );
  return loaded;
}
