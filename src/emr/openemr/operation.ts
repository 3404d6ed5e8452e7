import type { VisitType } from '../connector.ts';
import { EmrFailure } from '../emrFailure.ts';
import type { Emr } from '../fhir/references.ts';
import type { Requirement as FhirRequirement } from '../fhir/transport/capabilities.ts';
import type { Implementation } from '../operations/operations.ts';
import type { RestClient } from './rest.ts';
import { field, flag, type Row } from './rows.ts';

/** What every operation needs: both halves of the server, and what OpenEMR's API does not tell. */
export type OpenEmr = {
  fhir: Emr;
  rest: RestClient;
  timezone: string;
  visit_types: readonly VisitType[];
  people: Lookups;
  /** The uuid of the person who signed in, if the token names it. */
  user_id: string | undefined;
};

/** Scopes of OpenEMR's own API (`patient.write`), or what its FHIR half must support. */
export type Requirement = FhirRequirement | { scopes: readonly string[] };

export type OpenEmrOperation = Implementation<OpenEmr, Requirement>;

export function scopes(...names: string[]): { scopes: readonly string[] } {
  return { scopes: names };
}

export function reading<Key, Result>(read: (emr: OpenEmr, key: Key) => Promise<Result>) {
  return (emr: OpenEmr) => (key: Key) => read(emr, key);
}

/** OpenEMR has two ids of each person and facility: the uuid, which FHIR uses, and the number that writes need. */
export type Lookups = {
  users(): Promise<User[]>;
  practitioners(): Promise<User[]>;
  facilities(): Promise<Facility[]>;
};

export type User = {
  ehr_id: string;
  number: string;
  name: string;
  username: string | null;
  role: string | null;
  active: boolean;
};
export type Facility = { ehr_id: string; number: string; name: string; row: Row };

/** Reads each list at most once while the account is open. */
export function createLookups(rest: RestClient): Lookups {
  return {
    users: once(async () => (await rest.list({ path: ['user'], scope: 'user.read' })).flatMap(toUser)),
    practitioners: once(async () =>
      (await rest.list({ path: ['practitioner'], scope: 'practitioner.read' })).flatMap(toUser),
    ),
    facilities: once(async () => (await rest.list({ path: ['facility'], scope: 'facility.read' })).flatMap(toFacility)),
  };
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

function toUser(row: Row): User[] {
  const [ehr_id, number] = [field(row, 'uuid'), field(row, 'id')];
  if (ehr_id === null || number === null) return [];
  const names = ['fname', 'mname', 'lname'].map((name) => field(row, name));
  const username = field(row, 'username');
  const name = names.filter((each) => each !== null).join(' ');
  return [
    {
      ehr_id,
      number,
      name: name === '' ? (username ?? '') : name,
      username,
      role: field(row, 'physician_title', 'physician_type', 'specialty', 'title'),
      active: flag(row, 'active') ?? true,
    },
  ];
}

export function toFacility(row: Row): Facility[] {
  const [ehr_id, number] = [field(row, 'uuid'), field(row, 'id')];
  return ehr_id === null || number === null ? [] : [{ ehr_id, number, name: field(row, 'name') ?? '', row }];
}

/** The record of a patient; undefined if there is none. */
export async function readPatient({ rest }: Pick<OpenEmr, 'rest'>, ehr_id: string): Promise<Row | undefined> {
  if (!isUuid(ehr_id)) return undefined;
  return rest.read({ path: ['patient', ehr_id], scope: 'patient.read' });
}

/**
 * The number of a patient, in most paths of the API. OpenEMR accepts documents and messages of numbers that no patient
 * has, so that every write looks it up first.
 */
export async function requirePatient(emr: OpenEmr, ehr_id: string): Promise<string> {
  const patient = await readPatient(emr, ehr_id);
  const number = patient && field(patient, 'pid', 'id');
  if (!number) throw new EmrFailure('not_found', 'OpenEMR has no such patient.', { code: 'patient_not_found' });
  return number;
}

/** The record of a list with this id. OpenEMR stores numbers of facilities that do not exist. */
export function requireListed<T extends { ehr_id: string }>(all: readonly T[], ehr_id: string, noun: string): T {
  const match = all.find((each) => each.ehr_id === ehr_id);
  if (match) return match;
  throw new EmrFailure('not_found', `OpenEMR has no such ${noun}.`, { code: 'record_not_found' });
}

/** OpenEMR responds to a malformed uuid with an error. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
