import { TelephoneEncounterActionRequest } from '../model/telephoneEncounter.ts';
import { failureOf, type Write } from './write.ts';

/** An action is appended to the log of a telephone encounter, signed with the name of the linked EMR user. */
export const createTelephoneEncounterAction: Write<typeof TelephoneEncounterActionRequest, 'addTelephoneAction'> = {
  type: 'telephone_encounter_action.create',
  body: TelephoneEncounterActionRequest,
  needs: ['addTelephoneAction'],
  label: 'Telephone encounter actions',
  restricted: true,
  // The encounter's patient is known to the EMR alone, so its actions keep their order among themselves.
  check: async (_ctx, _account, body) => ({ key: `encounter:${body.emr_appointment_id}` }),
  accepted: ({ id, job_id }) => ({
    success: true,
    message: 'Telephone encounter action queued. A webhook event follows on completion.',
    action_id: id,
    job_id,
  }),
  perform: async ({ id, body, signer, emr, steps }) => {
    await steps.write('add_action', emr.addTelephoneAction, {
      encounter_ehr_id: body.emr_appointment_id,
      text: signed(body.text, signer, new Date()),
      high_priority: body.is_high_priority === 'true',
    });
    const data = { action_id: id, emr_appointment_id: body.emr_appointment_id, text: body.text };
    return { type: 'telephone_encounter_action.created', data };
  },
  fail: ({ id, body, outcomes, problem }) => {
    const told = { action_id: id, emr_appointment_id: body.emr_appointment_id };
    if (outcomes.has('add_action')) {
      return {
        state: 'succeeded',
        event: { type: 'telephone_encounter_action.created', data: { ...told, text: body.text } },
      };
    }
    const data = { ...told, ...failureOf(problem) };
    return { state: 'failed', event: { type: 'telephone_encounter_action.failed', data } };
  },
};

/** `Avery Deskwell 11/15/2026 09:12 AM EST: Called back.` in the time zone of the EMR instance. */
function signed(text: string, signer: { name: string; timezone: string }, now: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: signer.timezone,
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
  return `${signer.name} ${date} ${part('hour')}:${part('minute')} ${part('dayPeriod')} ${part('timeZoneName')}: ${text}`;
}
