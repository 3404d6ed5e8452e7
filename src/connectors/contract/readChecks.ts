import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { LiveAlerts, LiveEncounter, LiveGuarantor, LiveInsurance } from '../../model/liveChart.ts';
import { AppointmentSource } from '../../model/records/appointments.ts';
import { PatientSource } from '../../model/records/patients.ts';
import { CodeLists } from '../../model/settings.ts';
import type { OperationName, Operations, PatientSearch } from '../connector.ts';
import { broken, notTried } from './broken.ts';
import { type Check, failureOf } from './check.ts';
import { faultOfValues } from './faultOfValues.ts';
import type { Opened, Stand } from './stand.ts';
import { answering, cut, too_many, unreachable, useless } from './tampers.ts';

type ReadName = {
  [Name in OperationName]: Operations[Name] extends (...given: never[]) => Promise<unknown> ? Name : never;
}[OperationName];

type Read = {
  /** What it gives. */
  gives: TSchema;
  /** Asks for something that is there. */
  ask: (emr: Partial<Operations>, stand: Stand) => Promise<unknown>;
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
    ask: async (emr, stand) => emr[name]?.((await stand.somebody()).ehr_id),
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
    ask: async (emr, stand) => emr.findPatient?.((await stand.somebody()).mrn),
    askForNothing: async (emr) => emr.findPatient?.(nowhere),
  },
  getAppointment: {
    gives: AppointmentSource,
    ask: async (emr, stand) => {
      const [first] = await stand.rows('listAppointments');
      return first ? emr.getAppointment?.(first.ehr_id) : notTried('the EMR has no appointment');
    },
    askForNothing: async (emr) => emr.getAppointment?.(nowhere),
  },
  searchPatients: {
    gives: rows(PatientSource),
    ask: async (emr, stand) => emr.searchPatients?.({ mrn: (await stand.somebody()).mrn }),
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
      run: async (stand) => {
        const { emr } = await openFor(stand, name);
        const given = await stand.watch(reads[name].ask(emr, stand));
        const right = Compile(reads[name].gives);
        if (!right.Check(given)) broken(`the answer is wrong at ${right.Errors(given)[0]?.instancePath || '/'}`);
        const fault = faultOfValues(given);
        if (fault) broken(`the answer has ${fault}`);
      },
    },
    {
      id: `${name}.nothing`,
      promise: 'what is not there is not found: nothing, an empty list, or not_found; never somebody else’s',
      run: async (stand) => {
        const { askForNothing } = reads[name];
        const { emr } = await openFor(stand, name);
        if (!askForNothing) return notTried('it is not asked for by an id');
        const given = await stand.watch(askForNothing(emr)).catch((error: unknown) => notFound(error));
        if (given !== undefined && !isEmpty(given)) broken('a record came back for an id that nobody has');
      },
    },
    {
      id: `${name}.trouble`,
      promise: 'an EMR that is away, busy or out of its mind is unavailable; its Retry-After is passed on',
      run: async (stand) => {
        const trouble = { 'nobody there': unreachable, 'a broken line': cut };
        for (const [what, tamper] of Object.entries(trouble)) await ends(stand, name, what, tamper);
        for (const [what, make] of Object.entries(useless)) await ends(stand, name, what, answering(make));
        const { retry_after_ms } = await ends(
          stand,
          name,
          'too many requests',
          answering(() => too_many),
        );
        if (retry_after_ms !== 7000) broken('a Retry-After of 7 s was not passed on');
      },
    },
  ]),
  {
    id: 'searchPatients.methods',
    promise: 'a patient is found by MRN, by name, by date of birth and by phone, and by nobody else’s',
    run: async (stand) => {
      const { emr } = await openFor(stand, 'searchPatients');
      const { mrn } = await stand.somebody();
      const [patient] = (await emr.searchPatients?.({ mrn })) ?? [];
      if (!patient) return broken('a patient is not found by its MRN');
      const { first_name, last_name, dob, phone, cell_phone } = patient;
      const number = phone ?? cell_phone;
      const searches: [string, PatientSearch | undefined][] = [
        ['name', { first_name, last_name }],
        ['date of birth', dob === null ? undefined : { dob }],
        ['phone', number === null ? undefined : { phone: number }],
      ];
      for (const [what, search] of searches) {
        if (!search) continue;
        const found = (await stand.watch(emr.searchPatients?.(search) ?? Promise.resolve([]))) ?? [];
        if (!found.some(({ ehr_id }) => ehr_id === patient.ehr_id)) broken(`a patient is not found by its ${what}`);
        const strangers = found.filter((one) => search.dob !== undefined && one.dob !== search.dob);
        if (strangers.length > 0) broken(`a search by ${what} gives others too`);
      }
    },
  },
  {
    id: 'findPatient.exact',
    promise: 'an MRN finds the patient whose MRN it is, and a part of one finds nobody',
    run: async (stand) => {
      const { emr } = await openFor(stand, 'findPatient');
      const { ehr_id, mrn } = await stand.somebody();
      if ((await emr.findPatient?.(mrn))?.ehr_id !== ehr_id) broken('the MRN of a listed patient finds another one');
      const part = mrn.slice(0, -1);
      const found = part === '' ? undefined : await emr.findPatient?.(part);
      if (found && found.mrn !== part) broken('a part of an MRN finds a patient');
    },
  },
];

async function openFor(stand: Stand, name: OperationName, opening: Parameters<Stand['open']>[0] = {}): Promise<Opened> {
  const opened = await stand.open(opening);
  return opened.emr[name] ? opened : notTried(`this EMR does not offer ${name}`);
}

async function ends(
  stand: Stand,
  name: ReadName,
  what: string,
  tamper: NonNullable<Parameters<Stand['open']>[0]>['tamper'],
) {
  const { emr } = await openFor(stand, name, tamper ? { tamper } : {});
  return failureOf(stand, what, () => reads[name].ask(emr, stand), ['unavailable']);
}

function notFound(error: unknown): undefined {
  const kind = typeof error === 'object' && error !== null && 'kind' in error ? error.kind : undefined;
  if (kind !== 'not_found') broken(`an id that nobody has ended as ${String(kind ?? 'an error')}, not as not_found`);
  return undefined;
}

/** No rows, no alerts, no balance: what a chart without entries looks like. */
function isEmpty(given: unknown): boolean {
  if (Array.isArray(given)) return given.length === 0;
  if (typeof given !== 'object' || given === null) return !given;
  return Object.values(given).every((value) => value === 0 || isEmpty(value));
}
