import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type EmrWrite, type Operations } from '../../connector.ts';
import { pharmacyReference } from '../charts/callNotes.ts';
import { type Emr, refId } from '../references.ts';
import { createInForm, findCreatedInForm, findInForm, requireForm } from './forms.ts';
import { requireRecords } from './requireRecords.ts';
import { idOf } from './steps.ts';
import { requireCall } from './telephoneEncounters.ts';

type Write = Operations['addRefill'];
type Input = Write extends EmrWrite<infer In, infer _Out> ? In : never;

const forms = ['MedicationRequest', 'Task'] as const;

/**
 * Requests a refill: a proposed prescription that names the original one, for a prescriber to approve. A server that
 * takes no prescriptions gets a Task about the original one.
 */
export function addRefill({ client }: Emr): Write {
  const can_find = forms.some((type) => client.canFind(type));
  return {
    send: async (input, marker) => {
      requireForm(client, forms);
      const present = await findInForm(client, forms, marker);
      if (present) return { ehr_id: idOf(present) };
      const encounter = await requireCall(client, input.encounter_ehr_id);
      await requireRecords(client, null, { pharmacy: input.pharmacy_ehr_id });
      const original = await client.read<fhir.MedicationRequest>('MedicationRequest', input.medication_ehr_id);
      if (!original) {
        throw new EmrFailure('not_found', `The EMR has no medication with ID '${input.medication_ehr_id}'.`);
      }
      const patient = refId(original.subject, 'Patient');
      if (patient === null || patient !== refId(encounter.subject, 'Patient')) {
        const message = 'The medication and the telephone encounter belong to different patients.';
        throw new EmrFailure('refused', message, { code: 'emr_validation' });
      }
      return {
        ehr_id: idOf(await createInForm(client, [toProposal(input, original), toTask(input, original)], marker)),
      };
    },
    ...(can_find && {
      find: async (marker) => {
        const found = await findCreatedInForm(client, forms, marker);
        return found && { ehr_id: idOf(found) };
      },
    }),
  };
}

/** What is prescribed is copied; when and by whom is not. */
function toProposal(input: Input, original: fhir.MedicationRequest): fhir.MedicationRequest {
  const { medicationCodeableConcept, medicationReference, contained, dosageInstruction, dispenseRequest } = original;
  const { quantity, expectedSupplyDuration } = dispenseRequest ?? {};
  const pharmacy = input.pharmacy_ehr_id === null ? undefined : pharmacyReference(input.pharmacy_ehr_id);
  const dispense: fhir.MedicationRequestDispenseRequest = {
    ...(quantity && { quantity }),
    ...(expectedSupplyDuration && { expectedSupplyDuration }),
    ...(pharmacy?.reference?.startsWith('Organization/') && { performer: pharmacy }),
  };
  return {
    resourceType: 'MedicationRequest',
    status: 'active',
    intent: 'proposal',
    ...(medicationCodeableConcept && { medicationCodeableConcept }),
    ...(medicationReference && { medicationReference }),
    ...(medicationReference?.reference?.startsWith('#') && contained && { contained }),
    subject: original.subject,
    encounter: { reference: `Encounter/${input.encounter_ehr_id}` },
    authoredOn: new Date().toISOString(),
    priorPrescription: originalReference(input),
    ...(dosageInstruction && { dosageInstruction }),
    ...(Object.keys(dispense).length > 0 && { dispenseRequest: dispense }),
    // Only an Organization can be the performer.
    ...(pharmacy && !dispense.performer && { supportingInformation: [pharmacy] }),
  };
}

function toTask(input: Input, { subject }: fhir.MedicationRequest): fhir.Task {
  const pharmacy = input.pharmacy_ehr_id;
  return {
    resourceType: 'Task',
    status: 'requested',
    intent: 'proposal',
    code: { text: 'Refill' },
    focus: originalReference(input),
    for: subject,
    encounter: { reference: `Encounter/${input.encounter_ehr_id}` },
    authoredOn: new Date().toISOString(),
    ...(pharmacy !== null && {
      input: [{ type: { text: 'Pharmacy' }, valueReference: pharmacyReference(pharmacy) }],
    }),
  };
}

function originalReference({ medication_ehr_id }: Input): fhir.Reference {
  return { reference: `MedicationRequest/${medication_ehr_id}` };
}
