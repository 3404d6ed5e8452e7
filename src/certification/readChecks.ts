import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { OperationName, Operations, PatientSearch } from '../connectors/connector.ts';
import { AppointmentSource } from '../model/appointment.ts';
import { LiveAlerts, LiveEncounter, LiveGuarantor, LiveInsurance } from '../model/liveChart.ts';
import { PatientSource } from '../model/patient.ts';
import { CodeLists } from '../model/settings.ts';
import { type Check, fail, failureOf, skip } from './check.ts';
import type { Environment, Opened } from './environment.ts';
import { answering, cut, too_many, unreachable, useless } from './interceptors.ts';
import { findInvalidValue } from './invalidValues.ts';

type ReadName = {
  [Name in OperationName]: Operations[Name] extends (...given: never[]) => Promise<unknown> ? Name : never;
}[OperationName];

type Read = {
  /** What it gives. */
  gives: TSchema;
  /** Asks for something that is there. */
  ask: (emr: Partial<Operations>, env: Environment) => Promise<unknown>;
  /** Asks for something that is not there. */
  askForNothing?: (emr: Partial<Operations>) => Promise<unknown>;
};

const nowhere = 'no-such-record-0';
const rows = (row: TSchema) => Type.Array(row);
const medication = Type.Object({ ehr_id: Type.String({ minLength: 1 }), name: Type.String(), active: Type.Boolean() });
const pharmacy = Type.Object({ ehr_id: Type.String({ minLength: 1 }), is_primary: Type.Enum(['0', '1']) });
const money = Type.Object({ patient_balance: Type.Number(), account_balance: Type.Number() });

/** A read of one patient's chart. */
function ofChart(name: ChartName, gives: TSchema): Read {
  return {
    gives,
    ask: async (emr, env) => emr[name]?.((await env.anyPatient()).ehr_id),
    askForNothing: async (emr) => emr[name]?.(nowhere),
  };
}
type ChartName =
  | 'listMedications'
  | 'listPatientPharmacies'
  | 'listEncounters'
  | 'listGuarantors'
  | 'getBalances'
  | 'getAlerts'
  | 'listPatientInsurances';

export const reads: Record<ReadName, Read> = {
  getCodeLists: { gives: CodeLists, ask: async (emr) => emr.getCodeLists?.() },
  findPatient: {
    gives: PatientSource,
    ask: async (emr, env) => emr.findPatient?.((await env.anyPatient()).mrn),
    askForNothing: async (emr) => emr.findPatient?.(nowhere),
  },
  getAppointment: {
    gives: AppointmentSource,
    ask: async (emr, env) => {
      const [first] = await env.rows('listAppointments');
      return first ? emr.getAppointment?.(first.ehr_id) : skip('the EMR has no appointment');
    },
    askForNothing: async (emr) => emr.getAppointment?.(nowhere),
  },
  searchPatients: {
    gives: rows(PatientSource),
    ask: async (emr, env) => emr.searchPatients?.({ mrn: (await env.anyPatient()).mrn }),
    askForNothing: async (emr) => emr.searchPatients?.({ mrn: nowhere }),
  },
  listMedications: ofChart('listMedications', rows(medication)),
  listPatientPharmacies: ofChart('listPatientPharmacies', rows(pharmacy)),
  listEncounters: ofChart('listEncounters', rows(LiveEncounter)),
  listGuarantors: ofChart('listGuarantors', rows(LiveGuarantor)),
  getBalances: ofChart('getBalances', money),
  getAlerts: ofChart('getAlerts', LiveAlerts),
  listPatientInsurances: ofChart('listPatientInsurances', rows(LiveInsurance)),
};

// The keys of the table are the names of reads; TypeScript gives them back as texts.
const names = Object.keys(reads) as ReadName[];

export const readChecks: readonly Check[] = [
  ...names.flatMap((name): Check[] => [
    {
      id: `${name}.answers`,
      promise: 'it gives what the interface says, with dates and times that exist',
      run: async (env) => {
        const { emr } = await openFor(env, name);
        const given = await env.watch(reads[name].ask(emr, env));
        const right = Compile(reads[name].gives);
        if (!right.Check(given)) fail(`the answer is wrong at ${right.Errors(given)[0]?.instancePath || '/'}`);
        const fault = findInvalidValue(given);
        if (fault) fail(`the answer has ${fault}`);
      },
    },
    {
      id: `${name}.nothing`,
      promise: 'what is not there is not found: nothing, an empty list, or not_found; never somebody else’s',
      run: async (env) => {
        const { askForNothing } = reads[name];
        const { emr } = await openFor(env, name);
        if (!askForNothing) return skip('it is not asked for by an id');
        const given = await env.watch(askForNothing(emr)).catch((error: unknown) => notFound(error));
        if (given !== undefined && !isEmpty(given)) fail('a record came back for an id that nobody has');
      },
    },
    {
      id: `${name}.trouble`,
      promise: 'an EMR that is away, busy or out of its mind is unavailable; its Retry-After is passed on',
      run: async (env) => {
        const trouble = { 'nobody there': unreachable, 'a broken line': cut };
        for (const [what, intercept] of Object.entries(trouble)) await ends(env, name, what, intercept);
        for (const [what, make] of Object.entries(useless)) await ends(env, name, what, answering(make));
        const { retry_after_ms } = await ends(
          env,
          name,
          'too many requests',
          answering(() => too_many),
        );
        if (retry_after_ms !== 7000) fail('a Retry-After of 7 s was not passed on');
      },
    },
  ]),
  {
    id: 'searchPatients.methods',
    promise: 'a patient is found by MRN, by name, by date of birth and by phone, and by nobody else’s',
    run: async (env) => {
      const { emr } = await openFor(env, 'searchPatients');
      const { mrn } = await env.anyPatient();
      const [patient] = (await emr.searchPatients?.({ mrn })) ?? [];
      if (!patient) return fail('a patient is not found by its MRN');
      const { first_name, last_name, dob, phone, cell_phone } = patient;
      const number = phone ?? cell_phone;
      const searches: [string, PatientSearch | undefined][] = [
        ['name', { first_name, last_name }],
        ['date of birth', dob === null ? undefined : { dob }],
        ['phone', number === null ? undefined : { phone: number }],
      ];
      for (const [what, search] of searches) {
        if (!search) continue;
        const found = (await env.watch(emr.searchPatients?.(search) ?? Promise.resolve([]))) ?? [];
        if (!found.some(({ ehr_id }) => ehr_id === patient.ehr_id)) fail(`a patient is not found by its ${what}`);
        const strangers = found.filter((one) => search.dob !== undefined && one.dob !== search.dob);
        if (strangers.length > 0) fail(`a search by ${what} gives others too`);
      }
    },
  },
  {
    id: 'findPatient.exact',
    promise: 'an MRN finds the patient whose MRN it is, and a part of one finds nobody',
    run: async (env) => {
      const { emr } = await openFor(env, 'findPatient');
      const { ehr_id, mrn } = await env.anyPatient();
      if ((await emr.findPatient?.(mrn))?.ehr_id !== ehr_id) fail('the MRN of a listed patient finds another one');
      const part = mrn.slice(0, -1);
      const found = part === '' ? undefined : await emr.findPatient?.(part);
      if (found && found.mrn !== part) fail('a part of an MRN finds a patient');
    },
  },
];

async function openFor(
  env: Environment,
  name: OperationName,
  opening: Parameters<Environment['open']>[0] = {},
): Promise<Opened> {
  const opened = await env.open(opening);
  return opened.emr[name] ? opened : skip(`this EMR does not offer ${name}`);
}

async function ends(
  env: Environment,
  name: ReadName,
  what: string,
  intercept: NonNullable<Parameters<Environment['open']>[0]>['intercept'],
) {
  const { emr } = await openFor(env, name, intercept ? { intercept } : {});
  return failureOf(env, what, () => reads[name].ask(emr, env), ['unavailable']);
}

function notFound(error: unknown): undefined {
  const kind = typeof error === 'object' && error !== null && 'kind' in error ? error.kind : undefined;
  if (kind !== 'not_found') fail(`an id that nobody has ended as ${String(kind ?? 'an error')}, not as not_found`);
  return undefined;
}

/** No rows, no alerts, no balance: what a chart without entries looks like. */
function isEmpty(given: unknown): boolean {
  if (Array.isArray(given)) return given.length === 0;
  if (typeof given !== 'object' || given === null) return !given;
  return Object.values(given).every((value) => value === 0 || isEmpty(value));
}
