import { createHash } from 'node:crypto';
import type { LinkAccess } from './linkAccess.ts';

/** What a person agrees to in Link: who gets access, to which EMR, where the sign-in happens, and what for. */
export type ConsentTerms = {
  client: string;
  organization: string;
  emr: string;
  emr_address: string;
  /** By sign-in method; `default` if the EMR has only one. Methods whose host is not known are missing. */
  sign_in_hosts: Record<string, string>;
  access: LinkAccess;
};

export function hashTerms(terms: ConsentTerms): string {
  return createHash('sha256').update(JSON.stringify(terms)).digest('hex');
}

/** Whether a consent still covers what Link would show now. Less access than agreed needs no new consent. */
export function covers(given: ConsentTerms, now: ConsentTerms): boolean {
  const same =
    given.client === now.client &&
    given.organization === now.organization &&
    given.emr === now.emr &&
    given.emr_address === now.emr_address;
  return (
    same &&
    isWithin(Object.values(now.sign_in_hosts), Object.values(given.sign_in_hosts)) &&
    isWithin(now.access.reads, given.access.reads) &&
    isWithin(now.access.writes, given.access.writes)
  );
}

function isWithin(some: readonly string[], all: readonly string[]): boolean {
  return some.every((each) => all.includes(each));
}
