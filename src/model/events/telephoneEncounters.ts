import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import { type EventKinds, reasons, refusal } from './event.ts';

export const encounter = {
  telephone_encounter_id: Type.String(),
  emr_encounter_id: Type.String(),
  patient_mrn: Type.String(),
  provider_id: Type.String(),
  location_id: Type.String(),
  assigned_to_id: Type.String(),
  reason: nullable(Type.String({ description: 'Reason for the call' })),
};

export const action = {
  action_id: Type.String(),
  emr_appointment_id: Type.String({ description: 'The EMR’s ID of the telephone encounter', examples: ['30001'] }),
  text: Type.String({ description: 'What was done', examples: ['Called back, left a message.'] }),
};

export const telephone_encounter_events = {
  'telephone_encounter.created': {
    summary: 'The telephone encounter was created in the EMR, including the refill if one was requested.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter' },
    data: Type.Object(
      { ...encounter, refill_medication_name: Type.Optional(Type.String()) },
      { schema_name: 'TelephoneEncounter', description: 'A telephone encounter in the EMR' },
    ),
  },
  'telephone_encounter.created_partial': {
    summary: 'The telephone encounter was created in the EMR, but the refill could not be added.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter_with_refill', fault: { operation: 'add_refill', kind: 'refill_fails' } },
    data: Type.Object({
      ...encounter,
      refill_medication_name: Type.String(),
      refill_failure_reason: Type.String(),
    }),
  },
  'telephone_encounter.failed': {
    summary: 'The telephone encounter was not created, or its outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter', fault: refusal('create_telephone_encounter') },
    data: Type.Object({
      telephone_encounter_id: Type.String(),
      patient_mrn: Type.String(),
      refill_medication_name: nullable(Type.String()),
      failure_reason: Type.String(),
    }),
  },
  'telephone_encounter_action.created': {
    summary: 'The action was added to the telephone encounter’s action log.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter_action' },
    data: Type.Object(action, {
      schema_name: 'TelephoneEncounterAction',
      description: 'An action in the log of a telephone encounter',
    }),
  },
  'telephone_encounter_action.failed': {
    summary: 'The action was not added to the telephone encounter.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter_action', fault: refusal('add_telephone_action') },
    data: Type.Object({
      action_id: action.action_id,
      emr_appointment_id: action.emr_appointment_id,
      failure_reason: Type.String(),
      reasons,
    }),
  },
} as const satisfies EventKinds;
