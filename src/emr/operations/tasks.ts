import { Type } from 'typebox';
import { LiveTask } from '../../model/liveChart.ts';
import { TaskNoteRequest, TaskRequest } from '../../model/requests/tasks.ts';
import {
  activeRecord,
  chartRead,
  type Declarations,
  type EmrWrite,
  requestFields,
  type SampleEnvironment,
  sample_id,
  type Written,
} from './operation.ts';
import type { PracticeOperations } from './practice.ts';

export type TaskOperations = {
  listTasks: (patient_ehr_id: string) => Promise<LiveTask[]>;
  createTask: EmrWrite<NewTask, Written>;
  addTaskNote: EmrWrite<{ task_ehr_id: string; text: string }, Written>;
};

export type NewTask = {
  patient_ehr_id: string;
  subject: string | null;
  description: string;
  assigned_to_ehr_id: string | null;
  phone_call_type_ehr_id: string | null;
  notified_ehr_ids: readonly string[];
};

export const task_operations = {
  listTasks: chartRead('tasks', Type.Array(LiveTask)),
  createTask: {
    consent: 'tasks',
    effect: { action: 'create', resource: 'task' },
    fields: requestFields(TaskRequest, {
      subject: { adds: { subject: 'Certification subject' } },
      assignee_user_id: { adds: { assigned_to_ehr_id: sample_id } },
      phone_call_type_id: { adds: { phone_call_type_ehr_id: sample_id } },
      notify_list: { adds: { notified_ehr_ids: [sample_id] } },
    }),
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        subject: 'Synthetic task',
        description: `Synthetic task ${env.uniqueTag()}`,
        assigned_to_ehr_id: (await activeRecord(env, 'listStaff')).ehr_id,
        phone_call_type_ehr_id: await anyCallType(env),
        notified_ehr_ids: [],
      }),
      shown_by: 'listTasks',
      count: async (emr, { input: { patient_ehr_id, description } }) =>
        ((await emr.listTasks?.(patient_ehr_id)) ?? []).filter((one) => one.description === description).length,
    },
  },
  addTaskNote: {
    consent: 'tasks',
    effect: { action: 'create', resource: 'task_note' },
    fields: requestFields(TaskNoteRequest, {}),
    sample: {
      input: async (env) => ({
        task_ehr_id: await env.written('createTask'),
        text: `Synthetic note ${env.uniqueTag()}`,
      }),
      shown_by: 'listTasks',
      count: async (emr, { input: { task_ehr_id, text }, env }) => {
        const tasks = (await emr.listTasks?.((await env.testPatient()).ehr_id)) ?? [];
        const { notes = [] } = tasks.find(({ emr_task_id }) => emr_task_id === task_ehr_id) ?? {};
        return notes.filter((note) => note.text === text).length;
      },
    },
  },
} satisfies Declarations<TaskOperations>;

/** null where the EMR has no types of calls. */
async function anyCallType(env: SampleEnvironment<TaskOperations>): Promise<string | null> {
  // All operations of the account are open, whatever the group of the sample.
  const { getCodeLists } = (await env.open()).emr as Partial<PracticeOperations>;
  return (await getCodeLists?.())?.phone_call_types?.[0]?.id ?? null;
}
