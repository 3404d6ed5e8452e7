import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { SavedField } from '../../../emr/operations/operation.ts';
import type { OperationName, Operations } from '../../../emr/operations/operations.ts';
import type { EventOf } from '../../../model/events.ts';
import type { Patient } from '../../../model/records/patients.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { lockPatient, savePatient } from '../../records/patients.ts';
import {
  auditTrail,
  defineWriteHandler,
  type FinishedWrite,
  failureFields,
  notOffered,
  savedFields,
  type WriteRun,
} from '../defineWrite.ts';
import { readInsurances } from '../insurance/insuranceReferences.ts';
import { patientRerun } from './patientLane.ts';
import { type PatientUpdateInput, update_type } from './patientUpdates.ts';

type Emr = Pick<Operations, 'updatePatient'> & Partial<Operations>;

/** Updates a patient in the EMR. Anything beyond demographics comes from changes made while the patient was created. */
export const updatePatient = defineWriteHandler<PatientUpdateInput, 'updatePatient'>({
  type: update_type,
  label: 'Patient update',
  plural_label: 'Patient updates',
  needs: ['updatePatient'],
  run: async ({ input, emr, steps, scope, ourIds }) => {
    for (const [name, send] of planSteps(input)) {
      if (!steps.outcomes.has(name)) await send({ emr, steps });
    }
    const event = updated(input, await withOurIds(savedFields(steps.outcomes.values()), ourIds));
    if (input.coverages === undefined && input.payer === undefined) return { event };
    return { event, ...(await readInsurances(emr, { id: input.patient_id, ehr_id: input.ehr_id }, scope)) };
  },
  onFailure: ({ input, outcomes, failure }) => {
    if (planSteps(input).every(([name]) => outcomes.has(name))) {
      const fields = savedFields(outcomes.values()).filter(({ property }) => !doctor_ids.has(property));
      return { state: 'succeeded', event: updated(input, fields) };
    }
    const { patient_id, mrn } = input;
    const data = { patient_id, mrn, ...failureFields(failure) };
    return { state: 'failed', event: { type: 'patient.update_failed', data } };
  },
  onFinished: storeUpdate,
  overwrites: true,
  rerun: patientRerun(
    ({ input }) => input.patient_id,
    ({ doc, open_updates }) =>
      doc.status === 'active' || doc.status === 'pending_update'
        ? { status: 'pending_update', open_updates: open_updates + 1 }
        : undefined,
  ),
});

type Run = { emr: Emr; steps: Steps };
type Step = [name: string, send: (run: Run) => Promise<unknown>];

/** The EMR writes that make up the update, in order. */
function planSteps(update: PatientUpdateInput): Step[] {
  const { ehr_id: patient_ehr_id, demographics, save_previous_address, coverages, payer, pharmacy_ehr_id } = update;
  const list: Step[] = [];
  if (Object.keys(demographics).length > 0) {
    const input = { patient_ehr_id, save_previous_address, ...demographics };
    list.push(['update_patient', ({ emr, steps }) => steps.write('update_patient', emr.updatePatient, input)]);
  }
  for (const coverage of coverages ?? []) {
    const name = `set_insurance_${coverage.priority}`;
    list.push([name, (run) => setInsurance(run, name, update, coverage)]);
  }
  if (payer !== undefined) {
    const name = 'set_responsible_party';
    list.push([name, (run) => setPayer(run, name, patient_ehr_id, payer)]);
  }
  if (pharmacy_ehr_id !== undefined) {
    const input = { patient_ehr_id, pharmacy_ehr_id };
    list.push([
      'add_pharmacy',
      ({ emr, steps }) => steps.write('add_pharmacy', requireOperation(emr, 'addPatientPharmacy'), input),
    ]);
  }
  if (update.check_eligibility) {
    list.push([
      'request_eligibility',
      ({ emr, steps }) =>
        steps.write('request_eligibility', requireOperation(emr, 'requestEligibility'), { patient_ehr_id }),
    ]);
  }
  return list;
}

/** Changes the insurance that was sent before, or one with the same priority; adds it if the patient has neither. */
async function setInsurance(
  { emr, steps }: Run,
  name: string,
  { ehr_id: patient_ehr_id, guaranteed }: PatientUpdateInput,
  coverage: NonNullable<PatientUpdateInput['coverages']>[number],
): Promise<void> {
  const { company_ehr_id, company_name, member_id, priority, before } = coverage;
  const present = await requireOperation(emr, 'listPatientInsurances')(patient_ehr_id);
  const at = (rank: number) => present.find((each) => each.priority === rank);
  // An earlier attempt whose response was lost may already have changed the priority.
  const same = at(before?.priority ?? priority) ?? at(priority);
  const moved = !same || !before?.same_company;
  if (moved && company_ehr_id === null) {
    throw new EmrFailure('not_found', `No insurance provider is named '${company_name}'.`);
  }
  const number = member_id === null ? {} : { member_id };
  if (same) {
    const company = moved && company_ehr_id !== null ? { company_ehr_id } : {};
    const input = { insurance_ehr_id: same.emr_insurance_id, ...company, ...number, priority };
    await steps.write(name, requireOperation(emr, 'updatePatientInsurance'), input);
  } else if (company_ehr_id !== null) {
    const [guarantor] = guaranteed ? await requireOperation(emr, 'listGuarantors')(patient_ehr_id) : [];
    const paid = guarantor && { guarantor_ehr_id: guarantor.id };
    const input = { patient_ehr_id, company_ehr_id, member_id: member_id ?? '', priority, ...paid };
    await steps.write(name, requireOperation(emr, 'addPatientInsurance'), input);
  }
}

async function setPayer(
  { emr, steps }: Run,
  name: string,
  patient_ehr_id: string,
  payer: NonNullable<PatientUpdateInput['payer']> | null,
): Promise<void> {
  const guarantor =
    payer && (await steps.write('add_guarantor', requireOperation(emr, 'addGuarantor'), { patient_ehr_id, ...payer }));
  // As for a new patient, the guarantor is set on every insurance.
  for (const { emr_insurance_id } of await requireOperation(emr, 'listPatientInsurances')(patient_ehr_id)) {
    const input = { insurance_ehr_id: emr_insurance_id, guarantor_ehr_id: guarantor?.ehr_id ?? null };
    await steps.write(`set_guarantor_${emr_insurance_id}`, requireOperation(emr, 'updatePatientInsurance'), input);
  }
  await steps.write(name, requireOperation(emr, 'setResponsibleParty'), {
    patient_ehr_id,
    relationship: payer?.relationship ?? 'self',
    guarantor_ehr_id: guarantor?.ehr_id ?? null,
  });
}

function requireOperation<Name extends OperationName>(emr: Emr, name: Name): NonNullable<Emr[Name]> {
  const operation = emr[name];
  if (!operation) throw notOffered(name);
  return operation as NonNullable<Emr[Name]>;
}

/** Fields in which clients send our ids, while the EMR reports its own, and where their records are. */
const doctor_ids = new Map<string, readonly string[]>([
  ['referring_provider_id', ['referring_providers']],
  ['pcp_id', ['referring_providers', 'providers']],
]);

/** The fields with our ids. A doctor who is not synced yet is shown by name only. */
async function withOurIds(
  fields: SavedField[],
  ourIds: WriteRun<PatientUpdateInput, 'updatePatient'>['ourIds'],
): Promise<SavedField[]> {
  const shown: SavedField[] = [];
  for (const field of fields) {
    const tables = doctor_ids.get(field.property);
    const { before, after } = field;
    const ids =
      tables &&
      (await ourIds(
        tables,
        [before, after].filter((id) => id !== null),
      ));
    const ours = (ehr_id: string | null) => (ehr_id === null ? null : (ids?.get(ehr_id) ?? null));
    if (!tables) shown.push(field);
    else if (ours(before) !== ours(after)) shown.push({ ...field, before: ours(before), after: ours(after) });
  }
  return shown;
}

function updated({ patient_id, mrn }: PatientUpdateInput, fields: SavedField[]): EventOf {
  return { type: 'patient.updated', data: { patient_id, mrn, audit_trail: auditTrail(fields) } };
}

/** Stores what the EMR saved. After its last open update the patient is active again. */
async function storeUpdate({ tx, job, succeeded, outcomes }: FinishedWrite<PatientUpdateInput>): Promise<void> {
  const { client_id, organization_id, input } = job;
  const row = await lockPatient(tx, organization_id, input.patient_id);
  if (!row) return;
  const open_updates = row.open_updates - 1;
  const shown: Partial<Patient> = succeeded ? { ...input.shown, ...correctedFields(row.doc, outcomes) } : {};
  const status = open_updates === 0 ? 'active' : 'pending_update';
  await savePatient(tx, { client_id, organization_id }, row, { ...shown, status, open_updates });
}

/** Fields that the EMR saved with another value than it was sent. */
function correctedFields(doc: Patient, outcomes: Steps['outcomes']): Partial<Patient> {
  const corrected = savedFields(outcomes.values()).filter((field) => field.corrected && field.property in doc);
  return Object.fromEntries(corrected.map(({ property, after }) => [property, after]));
}
