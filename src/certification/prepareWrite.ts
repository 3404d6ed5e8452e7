import type { EmrWrite, Operations, Written } from '../connectors/connector.ts';
import { skip } from './check.ts';
import type { Environment, Interceptor, Opened } from './environment.ts';
import { samples, type WriteName } from './samples.ts';

/** A write and its words, whichever it is. */
export type Trial = {
  write: EmrWrite<unknown, Written>;
  input: unknown;
  marker: string;
  /** How often it stands in the chart; undefined where nothing shows it. */
  count: (written: Written) => Promise<number | undefined>;
  calls: Opened['calls'];
};

/** Opens the account anew and makes words for one write. The words are made untouched by the tampering. */
export async function trial(
  env: Environment,
  name: WriteName,
  intercept?: Interceptor,
  signal?: AbortSignal,
): Promise<Trial> {
  if (!env.writes) skip('no synthetic records may be written here');
  const { emr, calls } = await env.open({ ...(intercept && { intercept }), ...(signal && { signal }) });
  if (!emr[name]) skip(`this EMR does not offer ${name}`);
  const sample = samples[name];
  const input = await sample.input(env);
  const untouched = await env.open();
  // The words are those of this very write: both come from the entry of the same name.
  const write = emr[name] as unknown as Trial['write'];
  const count = sample.count as
    | ((...of: [Partial<Operations>, unknown, Written, Environment]) => Promise<number>)
    | undefined;
  return {
    write,
    input,
    marker: env.marker(),
    calls,
    count: async (written) =>
      count && shows(untouched.emr, name) ? count(untouched.emr, input, written, env) : undefined,
  };
}

/** The read that shows a write must be offered too. */
function shows(emr: Partial<Operations>, name: WriteName): boolean {
  const by: Partial<Record<WriteName, keyof Operations>> = {
    createPatient: 'searchPatients',
    updatePatient: 'findPatient',
    addPatientInsurance: 'listPatientInsurances',
    updatePatientInsurance: 'listPatientInsurances',
    createAppointment: 'getAppointment',
    createTelephoneEncounter: 'listEncounters',
    addTelephoneAction: 'listEncounters',
    addPatientPharmacy: 'listPatientPharmacies',
    addGuarantor: 'listGuarantors',
  };
  const read = by[name];
  return read !== undefined && emr[read] !== undefined;
}
