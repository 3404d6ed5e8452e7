import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../emrFailure.ts';
import type { InputOf } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import type { EmrMedication } from '../../operations/telephoneEncounters.ts';
import { requireCall } from '../encounters/telephoneEncounters.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { pharmacyReference } from '../practice/pharmacies.ts';
import { canSearch, createResolver, type Emr, findReferred, refId, refIds, searchChart } from '../references.ts';
import { reads, searches, stores } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { joinNotes, list, number, readLabel, text, toDay } from '../values.ts';
import { formLookup, requireForm, requireRecords, storeInForm } from '../writeSteps.ts';

/**
 * Prescriptions, without proposals, options, "do not take" requests and entries made in error. On a server without
 * prescriptions, what the patient takes according to the chart: both together would list most medications twice.
 */
export async function listMedications(emr: Emr, patient_ehr_id: string): Promise<EmrMedication[]> {
  const { client, timezone } = emr;
  const type = 'MedicationRequest';
  if (!canSearch(client, type, ['patient'])) return listStatements(emr, patient_ehr_id);
  const requests = await searchChart<fhir.MedicationRequest>(client, type, patient_ehr_id, ({ subject }) => [subject]);
  const relevant = requests.filter(
    ({ status, intent, doNotPerform }) =>
      status !== 'entered-in-error' && doNotPerform !== true && intent !== 'proposal' && intent !== 'option',
  );
  const drugs = await loadDrugs(client, relevant);
  return relevant.map((each) => toMedication(each, drugs, timezone));
}

const refill_forms = ['MedicationRequest', 'Task'] as const;

/**
 * Requests a refill: a proposed prescription that names the original one, for a prescriber to approve. A server that
 * accepts no prescriptions gets a Task about the original one.
 */
export function addRefill({ client }: Emr): Operations['addRefill'] {
  return {
    send: async (input, marker) => {
      requireForm(client, refill_forms);
      const ehr_id = await storeInForm(client, refill_forms, marker, async () => {
        const original = await requireOriginal(client, input);
        return [toProposal(input, original), toRefillTask(input, original)];
      });
      return { ehr_id };
    },
    ...formLookup(client, refill_forms),
  };
}

export function toMedication(
  request: fhir.MedicationRequest,
  drugs: ReadonlyMap<string, fhir.Medication>,
  timezone: string,
): EmrMedication {
  const repeats = number(request.dispenseRequest?.numberOfRepeatsAllowed);
  return {
    ehr_id: request.id ?? '',
    ...readDrug(request, list(request.dosageInstruction), drugs),
    start_date: toDay(request.authoredOn, timezone),
    refills: repeats === null ? null : String(repeats),
    notes: joinNotes(request.note),
    active: request.status === 'active',
  };
}

async function listStatements({ client, timezone }: Emr, patient_ehr_id: string): Promise<EmrMedication[]> {
  const type = 'MedicationStatement';
  const statements = await searchChart<fhir.MedicationStatement>(client, type, patient_ehr_id, ({ subject }) => [
    subject,
  ]);
  const relevant = statements.filter(({ status }) => status !== 'entered-in-error' && status !== 'not-taken');
  const drugs = await loadDrugs(client, relevant);
  return relevant.map((each) => statementToMedication(each, drugs, timezone));
}

type Entry = fhir.MedicationRequest | fhir.MedicationStatement;

/** The drugs that are records of their own, by id. */
function loadDrugs(client: FhirClient, entries: readonly Entry[]): Promise<ReadonlyMap<string, fhir.Medication>> {
  const references = entries.map(({ medicationReference }) => medicationReference);
  return createResolver(client).load<fhir.Medication>('Medication', refIds(references, 'Medication'));
}

/** The id is prefixed, because a prescription and a statement may have the same id. */
function statementToMedication(
  statement: fhir.MedicationStatement,
  drugs: ReadonlyMap<string, fhir.Medication>,
  timezone: string,
): EmrMedication {
  const { effectivePeriod, effectiveDateTime } = statement;
  return {
    ehr_id: `MedicationStatement/${statement.id ?? ''}`,
    ...readDrug(statement, list(statement.dosage), drugs),
    start_date: toDay(effectivePeriod?.start ?? effectiveDateTime, timezone),
    refills: null,
    notes: joinNotes(statement.note),
    active: statement.status === 'active',
  };
}

function readDrug(
  entry: Entry,
  [dosage]: readonly fhir.Dosage[],
  drugs: ReadonlyMap<string, fhir.Medication>,
): Pick<EmrMedication, 'name' | 'strength' | 'frequency'> {
  const { medicationReference: reference, medicationCodeableConcept: concept } = entry;
  const medication = findReferred<fhir.Medication>(entry, reference, 'Medication', drugs);
  return {
    name: readLabel(concept) ?? readLabel(medication?.code) ?? text(reference?.display) ?? '',
    strength: formatStrength(medication),
    frequency: text(dosage?.text) ?? readLabel(dosage?.timing?.code),
  };
}

function formatStrength(medication: fhir.Medication | undefined): string | null {
  const [ingredient] = list(medication?.ingredient);
  const { numerator, denominator } = ingredient?.strength ?? {};
  if (number(numerator?.value) === null) return null;
  const per = number(denominator?.value) === null || denominator?.value === 1 ? '' : `${denominator?.value} `;
  const below = text(denominator?.unit) === null ? '' : `/${per}${denominator?.unit}`;
  return `${numerator?.value} ${text(numerator?.unit) ?? ''}`.trim() + below;
}

type Refill = InputOf<Operations['addRefill']>;

/** The prescription to refill, which must be one of the caller's patient. */
async function requireOriginal(client: FhirClient, input: Refill): Promise<fhir.MedicationRequest> {
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
  return original;
}

/** What is prescribed is copied; when and by whom is not. */
function toProposal(input: Refill, original: fhir.MedicationRequest): fhir.MedicationRequest {
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

function toRefillTask(input: Refill, { subject }: fhir.MedicationRequest): fhir.Task {
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

function originalReference({ medication_ehr_id }: Refill): fhir.Reference {
  return { reference: `MedicationRequest/${medication_ehr_id}` };
}

export const medication_operations: readonly FhirOperation[] = [
  {
    operation: 'listMedications',
    requires: [{ ...searches('MedicationRequest', 'patient'), or: searches('MedicationStatement', 'patient') }],
    open: reading(listMedications),
  },
  {
    operation: 'addRefill',
    requires: [reads('Encounter'), reads('MedicationRequest'), { ...stores('MedicationRequest'), or: stores('Task') }],
    open: addRefill,
  },
];
