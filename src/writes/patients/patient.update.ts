import { EmrFailure, type OperationName, type Operations } from '../../connectors/connector.ts';
import type { EventOf } from '../../events.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import type { Patient } from '../../model/patient.ts';
import { lockPatient, savePatient } from '../../records/patientRow.ts';
import { auditTrail, savedFields } from '../auditTrail.ts';
import { type Carried, failureOf, type Settled } from '../write.ts';
import { type PatientUpdateInput, update_type } from './patientUpdates.ts';

type Emr = Pick<Operations, 'updatePatient'> & Partial<Operations>;

/** A patient whom the EMR has is changed. Only what was changed during its creation brings more than demographics. */
export const updatePatient: Carried<PatientUpdateInput, 'updatePatient'> = {
  type: update_type,
  needs: ['updatePatient'],
  perform: async ({ body, emr, steps }) => {
    for (const [name, take] of stepsOf(body)) {
      if (!steps.outcomes.has(name)) await take(emr, steps);
    }
    return updated(body, steps.outcomes);
  },
  fail: ({ body, outcomes, problem }) => {
    if (stepsOf(body).every(([name]) => outcomes.has(name))) {
      return { state: 'succeeded', event: updated(body, outcomes) };
    }
    const { patient_id, mrn } = body;
    const data = { patient_id, mrn, ...failureOf(problem) };
    return { state: 'failed', event: { type: 'patient.update_failed', data } };
  },
  settle: settleUpdate,
  overwrites: true,
  again: {
    patientOf: (_id, body) => body.patient_id,
    move: ({ doc, open_updates }) =>
      doc.status === 'active' || doc.status === 'pending_update'
        ? { status: 'pending_update', open_updates: open_updates + 1 }
        : undefined,
  },
};

type Step = [name: string, take: (emr: Emr, steps: Steps) => Promise<unknown>];

/** The writes that the change comes to, in their order. */
function stepsOf(body: PatientUpdateInput): Step[] {
  const { ehr_id: patient_ehr_id, demographics, save_previous_address, coverages, payer, pharmacy_ehr_id } = body;
  const list: Step[] = [];
  if (Object.keys(demographics).length > 0) {
    const input = { patient_ehr_id, save_previous_address, ...demographics };
    list.push(['update_patient', (emr, steps) => steps.write('update_patient', emr.updatePatient, input)]);
  }
  for (const coverage of coverages ?? []) {
    const name = `set_insurance_${coverage.priority}`;
    list.push([name, (emr, steps) => setInsurance(emr, steps, name, body, coverage)]);
  }
  if (payer !== undefined) {
    const name = 'set_responsible_party';
    list.push([name, (emr, steps) => setPayer(emr, steps, name, patient_ehr_id, payer)]);
  }
  if (pharmacy_ehr_id !== undefined) {
    const input = { patient_ehr_id, pharmacy_ehr_id };
    list.push(['add_pharmacy', (emr, steps) => steps.write('add_pharmacy', need(emr, 'addPatientPharmacy'), input)]);
  }
  if (body.check_eligibility) {
    list.push([
      'request_eligibility',
      (emr, steps) => steps.write('request_eligibility', need(emr, 'requestEligibility'), { patient_ehr_id }),
    ]);
  }
  return list;
}

/** The insurance that the EMR was sent, or one of that rank, is changed where the patient has it; else it is added. */
async function setInsurance(
  emr: Emr,
  steps: Steps,
  name: string,
  { ehr_id: patient_ehr_id, guaranteed }: PatientUpdateInput,
  coverage: NonNullable<PatientUpdateInput['coverages']>[number],
): Promise<void> {
  const { company_ehr_id, company_name, member_id, priority, before } = coverage;
  const present = await need(emr, 'listPatientInsurances')(patient_ehr_id);
  const at = (rank: number) => present.find((each) => each.priority === rank);
  // An earlier try whose answer was lost may have given it its new rank already.
  const same = at(before?.priority ?? priority) ?? at(priority);
  const moved = !same || !before?.same_company;
  if (moved && company_ehr_id === null) {
    throw new EmrFailure('not_found', `No insurance provider is called '${company_name}'.`);
  }
  const number = member_id === null ? {} : { member_id };
  if (same) {
    const company = moved && company_ehr_id !== null ? { company_ehr_id } : {};
    const input = { insurance_ehr_id: same.emr_insurance_id, ...company, ...number, priority };
    await steps.write(name, need(emr, 'updatePatientInsurance'), input);
  } else if (company_ehr_id !== null) {
    const [guarantor] = guaranteed ? await need(emr, 'listGuarantors')(patient_ehr_id) : [];
    const paid = guarantor && { guarantor_ehr_id: guarantor.id };
    const input = { patient_ehr_id, company_ehr_id, member_id: member_id ?? '', priority, ...paid };
    await steps.write(name, need(emr, 'addPatientInsurance'), input);
  }
}

async function setPayer(
  emr: Emr,
  steps: Steps,
  name: string,
  patient_ehr_id: string,
  payer: NonNullable<PatientUpdateInput['payer']> | null,
): Promise<void> {
  const guarantor =
    payer && (await steps.write('add_guarantor', need(emr, 'addGuarantor'), { patient_ehr_id, ...payer }));
  // As at a creation, whoever pays stands with every insurance.
  for (const { emr_insurance_id } of await need(emr, 'listPatientInsurances')(patient_ehr_id)) {
    const input = { insurance_ehr_id: emr_insurance_id, guarantor_ehr_id: guarantor?.ehr_id ?? null };
    await steps.write(`set_guarantor_${emr_insurance_id}`, need(emr, 'updatePatientInsurance'), input);
  }
  await steps.write(name, need(emr, 'setResponsibleParty'), {
    patient_ehr_id,
    relationship: payer?.relationship ?? 'self',
    guarantor_ehr_id: guarantor?.ehr_id ?? null,
  });
}

function need<Name extends OperationName>(emr: Emr, name: Name): NonNullable<Emr[Name]> {
  const operation = emr[name];
  if (!operation) throw new EmrFailure('refused', `This EMR does not offer ${name}.`);
  return operation as NonNullable<Emr[Name]>;
}

function updated({ patient_id, mrn }: PatientUpdateInput, outcomes: Steps['outcomes']): EventOf {
  return {
    type: 'patient.updated',
    data: { patient_id, mrn, audit_trail: auditTrail(savedFields(outcomes.values())) },
  };
}

/** With its last update the patient is active again; what the EMR saved is what the cache shows. */
async function settleUpdate({ tx, job, body, succeeded, outcomes }: Settled<PatientUpdateInput>): Promise<void> {
  const { client_id, organization_id } = job;
  const row = await lockPatient(tx, organization_id, body.patient_id);
  if (!row) return;
  const left = row.open_updates - 1;
  const shown: Partial<Patient> = succeeded ? { ...body.shown, ...savedOf(row.doc, outcomes) } : {};
  const status = left === 0 ? 'active' : 'pending_update';
  await savePatient(tx, { client_id, organization_id }, row, { ...shown, status }, left);
}

/** What the EMR has corrected is shown as it saved it. */
function savedOf(doc: Patient, outcomes: Steps['outcomes']): Partial<Patient> {
  const corrected = savedFields(outcomes.values()).filter((field) => field.corrected && field.property in doc);
  return Object.fromEntries(corrected.map(({ property, after }) => [property, after]));
}
