import { currentCode } from '../../larkspur/signin/credentials.ts';
import { type Larkspur, startLarkspur } from '../../larkspur/start.ts';
import { seededLarkspur } from '../harness/larkspur.ts';
import type { FreshDatabase } from '../harness/postgres.ts';

export interface ClinicResponse {
  status: number;
  body: Body;
  headers: Headers;
}

/** All fields that tests read. Which of them a response has is for the assertions to check. */
export interface Body extends Row {
  challengeId: string;
  sessionToken: string;
  deviceToken: string;
  recordId: string;
  appointmentId: string;
  errorCode: string;
  errorText: string;
  externalRef: string;
  caller: string;
  corrections: unknown[];
  faults: unknown[];
  entries: { marker: string; applied: boolean }[];
  rows: Row[];
  total: number;
  mrn: string;
  changes: { record: string; field: string; label: string; before: string | null; after: string | null }[];
  addressHistory: { address: object }[];
  responsibleGuarantorId: string;
}

export interface Row {
  patientId: string;
  providerId: string;
  pharmacyId: string;
  primaryFlag: string;
  medicationId: string;
  name: string;
  activeFlag: string;
  birthDate: string;
  cellPhone: string;
  address: object;
  weeklyHours: unknown[];
  companyId: string;
  carrierId: string | null;
  insuranceId: string;
  guarantorId: string;
  startsAt: string;
  minutes: number;
  statusCode: string;
  visitType: string;
  claimId: string;
  lastModified: string;
  labResults: object | null;
  checkId: string;
  benefits: unknown[];
  priority: number;
  inForceFlag: string;
  mrn: string;
}

export interface Clinic {
  larkspur: Larkspur;
  /** Larkspur's clock. It moves only when a test moves it. */
  clock: { at: Date; advance(ms: number): void };
  api(method: string, path: string, body?: object, token?: string): Promise<ClinicResponse>;
  control(method: string, path: string, body?: object): Promise<ClinicResponse>;
  signIn(options?: { staff?: number; rememberDevice?: 'Y' | 'N' }): Promise<Body>;
  code(staff?: number): string;
  close(): Promise<void>;
}

const opened_at = new Date('2026-03-10T15:00:05Z');

/** Starts Larkspur with a fixed clock, by default on a seeded database of its own. */
export async function openClinic(seeded?: FreshDatabase): Promise<Clinic> {
  const database = seeded ?? (await seededLarkspur({ now: opened_at }));
  const clock = {
    at: opened_at,
    advance: (ms: number) => {
      clock.at = new Date(clock.at.getTime() + ms);
    },
  };
  const larkspur = await startLarkspur({ database: database.address, host: '127.0.0.1', port: 0, now: () => clock.at });
  const person = (staff = 0) => larkspur.staff[staff] ?? Promise.reject(new Error('no such staff member'));
  const clinic: Clinic = {
    larkspur,
    clock,
    api: (method, path, body, token) =>
      request(larkspur.url + path, method, body, token ? { authorization: `Bearer ${token}` } : {}),
    control: (method, path, body) =>
      request(larkspur.url + path, method, body, { 'control-token': larkspur.control_token }),
    code: (staff = 0) => currentCode(larkspur.staff[staff]?.totp_secret ?? '', clock.at),
    signIn: async ({ staff = 0, rememberDevice = 'N' } = {}) => {
      const { username, password } = await person(staff);
      const { body } = await clinic.api('POST', '/api/login', { userName: username, password });
      const step = { challengeId: body.challengeId, code: clinic.code(staff), rememberDevice };
      return (await clinic.api('POST', '/api/login/code', step)).body;
    },
    close: async () => {
      await larkspur.close();
      await database.drop();
    },
  };
  return clinic;
}

/** A valid body of create_telephone_encounter. */
export function encounterBody(externalRef: string, fields: object = {}): object {
  return { externalRef, providerId: '501', facilityId: '11', assignedTo: '703', priority: 'N', ...fields };
}

export const ENCOUNTERS = '/api/patients/10001/telephone-encounters';

async function request(
  url: string,
  method: string,
  body: object | undefined,
  headers: object,
): Promise<ClinicResponse> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json');
  return { status: response.status, body: json ? JSON.parse(text) : text, headers: response.headers };
}
