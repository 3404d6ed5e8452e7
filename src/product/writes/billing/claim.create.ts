import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import type { EventOf } from '../../../model/events.ts';
import { claims } from '../../../model/records/claims.ts';
import { ClaimRequest } from '../../../model/requests/billing.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { referenceError } from '../../records/readRecords.ts';
import { storeOwnRecord } from '../../records/storeRecords.ts';
import { createAppointment } from '../appointments/appointment.create.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { laneKey, patientLane } from '../patients/patientLane.ts';

const step = 'create_claim';

/** `patient_mrn` is that of the appointment. The EMR decides whose claim it is, by the visit. */
type Lookups = { appointment_ehr_id: string; patient_mrn: string };
type ClaimInput = ClaimRequest & Lookups;

/** Creates the claim of a visit. Its id is that of the claim in `GET /v1/claims`. */
export const createClaim = defineWrite({
  type: 'claim.create',
  label: 'Claim',
  plural_label: 'New claims',
  body: ClaimRequest,
  sample: { appointment_id: '01a1c5f0a4e87b21b3d94c6f7a8e9012' },
  needs: ['createClaim'],
  restricted: true,
  stored_by: 'createClaim',
  check: checkReferences,
  compareWithEarlier: refuseSecondClaim,
  acceptedResponse: ({ id, job_id, input }) => ({
    success: true,
    message: 'Claim creation queued. A webhook event follows on completion.',
    claim_id: id,
    appointment_id: input.appointment_id,
    job_id,
  }),
  run: async ({ id, input, emr, steps, scope }) => {
    const written =
      steps.outcomes.get(step) ??
      (await steps.write(step, emr.createClaim, { appointment_ehr_id: input.appointment_ehr_id }));
    // Stored together with the event, so that the claim can be read at once.
    const claim = await emr.getClaim?.(String(written.ehr_id));
    return {
      event: created(id, input, written),
      store: async (tx) => {
        if (claim) await storeOwnRecord(tx, { ...scope, kind: claims }, id, claim);
      },
    };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const written = outcomes.get(step);
    if (written) return { state: 'succeeded', event: created(id, input, written) };
    const data = { ...claimFields(id, input), ...failureFields(failure) };
    return { state: 'failed', event: { type: 'claim.failed', data } };
  },
});

function created(id: string, input: ClaimInput, written: Record<string, unknown>): EventOf {
  return { type: 'claim.created', data: { ...claimFields(id, input), emr_claim_id: String(written.ehr_id) } };
}

function claimFields(claim_id: string, { appointment_id, patient_mrn }: ClaimInput) {
  return { claim_id, appointment_id, patient_mrn };
}

type Booked = { ehr_id: string | null; patient_mrn: string | null; patient_id: string | null };

async function checkReferences({ ctx, account, body }: { ctx: Context; account: Account; body: ClaimRequest }) {
  const id = parseId(body.appointment_id);
  if (!id) {
    const rule = 'appointment_id must be an ID of an appointment: 32 hexadecimal characters';
    throw apiError('invalid_field', { rule }, { field: 'appointment_id' });
  }
  const { client_id, organization_id } = account;
  const [booked] = await ctx.db.read<Booked>(
    client_id,
    (sql) => sql`SELECT ehr_id, patient_mrn,
        (SELECT patients.id FROM patients WHERE patients.client_id = ${client_id}
          AND patients.organization_id = ${organization_id} AND patients.mrn = appointments.patient_mrn
          ORDER BY patients.id LIMIT 1) AS patient_id
      FROM appointments WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND id = ${id}
      UNION ALL
      SELECT NULL, NULL, NULL FROM operations WHERE client_id = ${client_id} AND organization_id = ${organization_id}
        AND id = ${id} AND type = ${createAppointment.type}`,
  );
  const field = 'appointment_id';
  if (!booked) {
    throw await referenceError(
      ctx.db,
      account,
      ['appointments'],
      apiError('appointment_not_found', undefined, { field }),
    );
  }
  if (booked.ehr_id === null) throw apiError('appointment_not_in_emr', undefined, { field });
  const { ehr_id, patient_mrn, patient_id } = booked;
  const lane = patient_mrn === null ? { key: laneKey('appointment', ehr_id) } : patientLane(patient_mrn, patient_id);
  return { lane, lookups: { appointment_ehr_id: ehr_id, patient_mrn: patient_mrn ?? '' } };
}

/** Throws if the appointment has a claim that is not void, or if one is being created. */
async function refuseSecondClaim({
  tx,
  account: { client_id, organization_id },
  input: { appointment_ehr_id, patient_mrn },
}: {
  tx: Tx;
  account: Account;
  input: ClaimInput;
}): Promise<Partial<Lookups>> {
  // Of concurrent requests, the later one waits here and sees the earlier one.
  await tx`SELECT FROM appointments WHERE organization_id = ${organization_id} AND ehr_id = ${appointment_ehr_id}
    FOR NO KEY UPDATE`;
  const [present] = await tx<{ id: string }[]>`
    SELECT id FROM claims WHERE client_id = ${client_id} AND organization_id = ${organization_id}
       AND patient_mrn = ${patient_mrn} AND doc ->> 'emr_appointment_id' = ${appointment_ehr_id}
       AND doc ->> 'void_flag' = 'false'
    UNION ALL
    SELECT id FROM operations AS operation
     WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND type = ${createClaim.type}
       AND patient_mrn = left(${patient_mrn}, 200) AND input ->> 'appointment_ehr_id' = ${appointment_ehr_id}
       AND (SELECT state FROM jobs WHERE operation_id = operation.id ORDER BY jobs.id DESC LIMIT 1)
         IN ('queued', 'running', 'needs_review')
    LIMIT 1`;
  if (!present) return {};
  const claim_id = present.id.replaceAll('-', '');
  throw apiError('claim_exists', { claim_id }, { field: 'appointment_id', ids: { claim_id } });
}
