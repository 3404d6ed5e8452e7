import { Compile } from 'typebox/compile';
import { supportsField } from '../connector.ts';
import { EmrFailure } from '../emrFailure.ts';
import { skip } from '../operations/operation.ts';
import {
  type OperationName,
  type Operations,
  operations,
  type ReadName,
  read_names,
} from '../operations/operations.ts';
import type { PatientSearch } from '../operations/patients.ts';
import {
  type Check,
  type Environment,
  expectFailure,
  fail,
  type Interceptor,
  type OpenedAccount,
  skipUnsupported,
  untypedRead,
} from './environment.ts';
import { dropConnection, respondWith, tooManyRequests, unreachable, unusable_responses } from './interceptors.ts';
import { findInvalidValue } from './invalidValues.ts';

export const readChecks: readonly Check[] = [
  ...read_names.flatMap((name): Check[] => [
    {
      id: `${name}.result`,
      expectation: 'the result matches its schema and contains valid dates and times',
      run: async (env) => {
        const { emr } = await openWith(env, name);
        const result = await env.track(readSample(env, emr, name));
        const schema = Compile(operations[name].result);
        if (!schema.Check(result))
          fail(`the result does not match the schema at ${schema.Errors(result)[0]?.instancePath || '/'}`);
        const problem = findInvalidValue(result);
        if (problem) fail(`the result has ${problem}`);
      },
    },
    {
      id: `${name}.not_found`,
      expectation: 'an unknown id returns nothing, an empty result or not_found',
      run: async (env) => {
        const { emr } = await openWith(env, name);
        const { read, declaration } = untypedRead(emr, name);
        if (!declaration.missing) return skip('the read takes no id');
        const result = await env
          .track(read(...declaration.missing))
          .catch((error: unknown) => rejectOtherThanNotFound(error));
        if (result !== undefined && !isEmpty(result)) fail('an unknown id returned a record');
      },
    },
    {
      id: `${name}.outage`,
      expectation: 'an unreachable, overloaded or malfunctioning EMR is unavailable, and its Retry-After is passed on',
      run: async (env) => {
        const outages = { unreachable, 'a lost connection': dropConnection };
        for (const [situation, intercept] of Object.entries(outages))
          await expectUnavailable(env, name, situation, intercept);
        for (const [situation, make] of Object.entries(unusable_responses))
          await expectUnavailable(env, name, situation, respondWith(make));
        const { retry_after_ms } = await expectUnavailable(env, name, 'too many requests (429)', tooManyRequests);
        if (retry_after_ms !== 7000) fail('Retry-After was not passed on');
      },
    },
  ]),
  {
    id: 'searchPatients.criteria',
    expectation: 'a patient is found by MRN, name, date of birth and phone, and nobody by a blank one',
    run: async (env) => {
      const { emr } = await openWith(env, 'searchPatients');
      const [sample]: [PatientSearch] = await operations.searchPatients.sample(env);
      const [patient] = (await env.track(emr.searchPatients?.(sample) ?? Promise.resolve([]))) ?? [];
      if (!patient) return fail(`a patient is not found by ${sample.mrn === undefined ? 'name' : 'MRN'}`);
      const { first_name, last_name, dob, phone, cell_phone } = patient;
      const number = phone ?? cell_phone;
      const searches: [string, PatientSearch | undefined][] = [
        ['name', { first_name, last_name }],
        ['date of birth', dob === null ? undefined : { dob }],
        ['phone', number === null ? undefined : { phone: number }],
      ];
      const capabilities = await env.capabilities();
      const isSearchable = (field: string) => supportsField(env.connector, capabilities, 'searchPatients', field);
      for (const [what, search] of searches) {
        // Live fetches by a criterion that the server cannot search by are rejected in the request.
        if (!search || !Object.keys(search).every(isSearchable)) continue;
        const matches = (await env.track(emr.searchPatients?.(search) ?? Promise.resolve([]))) ?? [];
        if (!matches.some(({ ehr_id }) => ehr_id === patient.ehr_id)) fail(`a patient is not found by ${what}`);
        const others = matches.filter((one) => search.dob !== undefined && one.dob !== search.dob);
        if (others.length > 0) fail(`a search by ${what} returns other patients`);
      }
      for (const blank of [
        ...(sample.mrn === undefined ? [] : [{ mrn: ' ' }]),
        { first_name: ' ', last_name },
        { first_name, last_name: '' },
        { phone: '' },
      ]) {
        const matches = (await emr.searchPatients?.(blank)) ?? [];
        if (matches.length > 0) fail(`a blank criterion (${Object.keys(blank).join(', ')}) matches patients`);
      }
    },
  },
  {
    id: 'findPatient.exact',
    expectation: 'an MRN finds exactly its patient, and a part of an MRN finds no patient',
    run: async (env) => {
      const { emr } = await openWith(env, 'findPatient');
      const { ehr_id, mrn } = await env.anyPatient();
      if ((await emr.findPatient?.(mrn))?.ehr_id !== ehr_id) fail('the MRN of a listed patient finds another patient');
      const part = mrn.slice(0, -1);
      const match = part === '' ? undefined : await emr.findPatient?.(part);
      if (match && match.mrn !== part) fail('a part of an MRN finds a patient');
    },
  },
  {
    id: 'findPatient.merged',
    expectation: 'the MRN of a merged chart leads to the chart that it was merged into, in every search',
    run: async (env) => {
      const { merged_mrn: mrn } = env;
      if (mrn === undefined) skip('no merged chart was named');
      const { emr } = await openWith(env, 'findPatient');
      const surviving = (await env.track(emr.findPatient?.(mrn) ?? Promise.resolve(undefined))) ?? undefined;
      if (!surviving) return fail('a merged chart is not found');
      const matches = (await emr.searchPatients?.({ mrn })) ?? [surviving];
      if (matches.length !== 1 || matches[0]?.ehr_id !== surviving.ehr_id) fail('a search finds another chart');
      const listed = (await env.rows('listPatients')).map(({ ehr_id }) => ehr_id);
      if (!listed.includes(surviving.ehr_id)) fail('the chart that it was merged into is not listed');
    },
  },
];

/** Reads something that exists. */
export async function readSample(env: Environment, emr: Partial<Operations>, name: ReadName): Promise<unknown> {
  const { read, declaration } = untypedRead(emr, name);
  return read(...(await declaration.sample(env)));
}

async function openWith(
  env: Environment,
  name: OperationName,
  options: Parameters<Environment['open']>[0] = {},
): Promise<OpenedAccount> {
  const opened = await env.open(options);
  return opened.emr[name] ? opened : skipUnsupported(name);
}

async function expectUnavailable(env: Environment, name: ReadName, situation: string, intercept: Interceptor) {
  const { emr } = await openWith(env, name, { intercept });
  return expectFailure(env, situation, () => readSample(env, emr, name), ['unavailable']);
}

function rejectOtherThanNotFound(error: unknown): undefined {
  if (error instanceof EmrFailure && error.not_offered) throw error;
  if (error instanceof EmrFailure && error.code === 'not_supported') skip('the EMR does not support this search');
  const kind = typeof error === 'object' && error !== null && 'kind' in error ? error.kind : undefined;
  if (kind !== 'not_found') fail(`an unknown id failed as ${String(kind ?? 'an error')}, expected not_found`);
  return undefined;
}

/** No rows, no alerts, no balance: an empty chart. */
function isEmpty(result: unknown): boolean {
  if (Array.isArray(result)) return result.length === 0;
  if (typeof result !== 'object' || result === null) return !result;
  return Object.values(result).every((value) => value === 0 || isEmpty(value));
}
