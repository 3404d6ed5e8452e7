import { errors } from '../catalog/errors.ts';
import { findRemedy } from '../catalog/remedies.ts';
import type { LoggedRequest } from '../product/context.ts';

/**
 * Placeholders of error messages whose values are names and limits of ours. The values of all others can be what the
 * caller or an EMR sent, such as an ID, and are not stored.
 */
const stored_placeholders = [
  ...['allowed', 'document', 'emr', 'expected', 'limit', 'max', 'methods', 'operation', 'quota', 'supported'],
];

/** What the request log stores of the values in an error's message; null if nothing. */
export function storedValues(values: Readonly<Record<string, string>> | undefined): Record<string, string> | null {
  const stored = Object.entries(values ?? {}).filter(([name]) => stored_placeholders.includes(name));
  return stored.length === 0 ? null : Object.fromEntries(stored);
}

type Logged = Pick<LoggedRequest, 'code' | 'field' | 'method' | 'message_values'>;

/** What a logged request was told, and what to do about it. The message is null if parts of it are not stored. */
export function describeLogged(logged: Logged): { message: string | null; remedy: string | null } {
  const { code, field, method, message_values } = logged;
  if (!isKnown(code)) return { message: null, remedy: null };
  const values: Record<string, string | null> = { ...message_values, field, method };
  let complete = true;
  const message = errors[code].message.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    complete &&= typeof values[name] === 'string';
    return values[name] ?? '';
  });
  return { message: complete ? message : null, remedy: findRemedy(code) };
}

/** Requests of earlier versions can have codes that are no more. */
function isKnown(code: string | null): code is keyof typeof errors {
  return code !== null && Object.hasOwn(errors, code);
}
