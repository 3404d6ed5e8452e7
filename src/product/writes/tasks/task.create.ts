import { apiError } from '../../../catalog/errors.ts';
import type { EventOf } from '../../../model/events.ts';
import { TaskRequest } from '../../../model/requests/tasks.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { referenceError } from '../../records/readRecords.ts';
import { defineWrite, failureFields, patientNotFound } from '../defineWrite.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';

const step = 'create_task';

/** Creates a task about a patient for a member of the staff. */
export const createTask = defineWrite({
  type: 'task.create',
  label: 'Task',
  plural_label: 'Tasks',
  body: TaskRequest,
  independent: true,
  sample: {
    description: 'Call back about the laboratory results.',
    patient_mrn: 'LK100001',
    subject: 'Laboratory results',
    assignee_user_id: '703',
    phone_call_type_id: '5',
    notify_list: ['704'],
  },
  needs: ['createTask', 'findPatient'],
  restricted: false,
  stored_by: 'createTask',
  sentFields: ({ notify_list, ...body }) => [
    ...Object.keys(body),
    ...(notify_list && notify_list.length > 0 ? ['notify_list'] : []),
  ],
  check: checkReferences,
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Task creation queued. A webhook event follows on completion.',
    task_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps }) => {
    const earlier = steps.outcomes.get(step);
    if (earlier) return { event: created(id, input, earlier) };
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw patientNotFound(input.patient_mrn);
    const task = await steps.write(step, emr.createTask, {
      patient_ehr_id: patient.ehr_id,
      subject: input.subject ?? null,
      description: input.description,
      assigned_to_ehr_id: input.assignee_user_id ?? null,
      phone_call_type_ehr_id: input.phone_call_type_id ?? null,
      notified_ehr_ids: [...new Set(input.notify_list)],
    });
    return { event: created(id, input, task) };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const task = outcomes.get(step);
    if (task) return { state: 'succeeded', event: created(id, input, task) };
    const data = { task_id: id, patient_mrn: input.patient_mrn, ...failureFields(failure) };
    return { state: 'failed', event: { type: 'task.failed', data } };
  },
});

function created(id: string, body: TaskRequest, task: { ehr_id?: unknown }): EventOf {
  return {
    type: 'task.created',
    data: {
      task_id: id,
      emr_task_id: String(task.ehr_id),
      subject: body.subject ?? null,
      description: body.description,
      assignee_user_id: body.assignee_user_id ?? null,
    },
  };
}

type Request = { ctx: Context; account: Account; body: TaskRequest };

async function checkReferences({ ctx, account, body }: Request) {
  const { client_id, organization_id } = account;
  const { assignee_user_id, notify_list = [], phone_call_type_id } = body;
  const people = [...(assignee_user_id === undefined ? [] : [assignee_user_id]), ...notify_list];
  const [references] = await ctx.db.read<{
    patient_id: string | null;
    staff: string[];
    call_type: boolean;
  }>(
    client_id,
    (sql) => sql`SELECT
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id,
      ARRAY(SELECT ehr_id FROM staff WHERE client_id = ${client_id} AND organization_id = ${organization_id}
        AND ehr_id = ANY (${people}) AND status = 'active') AS staff,
      coalesce((SELECT code_lists -> 'phone_call_types' @> jsonb_build_array(jsonb_build_object('id', ${phone_call_type_id ?? ''}::text))
        FROM organizations WHERE id = ${organization_id} AND jsonb_typeof(code_lists -> 'phone_call_types') = 'array'),
        true) AS call_type`,
  );
  const unknown = people.find((id) => !references?.staff.includes(id));
  if (unknown !== undefined) {
    const field = unknown === assignee_user_id ? 'assignee_user_id' : 'notify_list';
    throw await referenceError(ctx.db, account, ['staff'], apiError('staff_not_found', { id: unknown }, { field }));
  }
  if (phone_call_type_id !== undefined && !references?.call_type) {
    const field = 'phone_call_type_id';
    throw apiError('record_not_found', { noun: 'Phone call type', id: phone_call_type_id }, { field });
  }
  return { lane: patientLane(body.patient_mrn, references?.patient_id ?? null), lookups: {} };
}
