import type { EventOf } from '../../../model/events.ts';
import { TelephoneEncounterActionRequest } from '../../../model/requests/telephoneEncounters.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { laneKey } from '../patients/patientLane.ts';

const step = 'add_action';

/** Appends an action to the log of a telephone encounter, signed with the name of the linked EMR user. */
export const createTelephoneEncounterAction = defineWrite({
  type: 'telephone_encounter_action.create',
  label: 'Telephone encounter action',
  plural_label: 'Telephone encounter actions',
  body: TelephoneEncounterActionRequest,
  sample: { emr_appointment_id: '30001', text: 'Called back, left a message.' },
  needs: ['addTelephoneAction'],
  restricted: 'every_server',
  stored_by: 'addTelephoneAction',
  // Only the EMR knows the encounter's patient, so order is kept among the actions of the encounter.
  check: async ({ body }) => ({ lane: { key: laneKey('encounter', body.emr_appointment_id) }, lookups: {} }),
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Telephone encounter action queued. A webhook event follows on completion.',
    action_id: id,
    job_id,
  }),
  run: async ({ id, input, emr_user, emr, steps }) => {
    await steps.write(step, emr.addTelephoneAction, {
      encounter_ehr_id: input.emr_appointment_id,
      text: sign(input.text, emr_user, new Date()),
      high_priority: input.is_high_priority === 'true',
    });
    return { event: created(id, input) };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    if (outcomes.has(step)) return { state: 'succeeded', event: created(id, input) };
    const data = { action_id: id, emr_appointment_id: input.emr_appointment_id, ...failureFields(failure) };
    return { state: 'failed', event: { type: 'telephone_encounter_action.failed', data } };
  },
});

function created(id: string, { emr_appointment_id, text }: TelephoneEncounterActionRequest): EventOf {
  return { type: 'telephone_encounter_action.created', data: { action_id: id, emr_appointment_id, text } };
}

/** `Avery Deskwell 11/15/2026 09:12 AM EST: Called back.` in the time zone of the EMR instance. */
function sign(text: string, emr_user: { name: string; timezone: string }, now: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: emr_user.timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hour12: true,
    timeZoneName: 'short',
  }).formatToParts(now);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? '';
  const date = `${part('month')}/${part('day')}/${part('year')}`;
  return `${emr_user.name} ${date} ${part('hour')}:${part('minute')} ${part('dayPeriod')} ${part('timeZoneName')}: ${text}`;
}
