import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { Page } from '../records/recordKind.ts';

export interface Task {
  taskId: string;
  patientId: string;
  subject: string;
  description: string;
  assignedTo: string;
  /** A code of the list `phone_call_type`. */
  phoneCallTypeId: string;
  /** Staff members who are told about the task. */
  notifyList: string[];
  /** `OPN` or `CLS`. */
  statusCode: string;
  createdAt: Date;
  createdBy: string;
}

/** An entry in the notes of a task, which are append-only. */
export interface TaskNote {
  at: Date;
  by: string;
  text: string;
}

export type TaskDetails = Task & { assignedToName: string | null; phoneCallType: string | null; notes: TaskNote[] };

export async function addTask(sql: Query, task: Omit<Task, 'taskId' | 'statusCode'>): Promise<string> {
  const row = { ...task, notifyList: sql.json(task.notifyList) };
  const [added] = await sql<{ taskId: string }[]>`insert into tasks ${sql.values(row)} returning task_id`;
  return added?.taskId ?? '';
}

export async function addTaskNote(sql: Query, taskId: string, note: TaskNote): Promise<string> {
  const [added] = await sql<{ taskNoteId: string }[]>`
    insert into task_notes ${sql.values({ taskId, ...note })} returning task_note_id`;
  return added?.taskNoteId ?? '';
}

export async function requireTask(sql: Query, taskId: string): Promise<Pick<Task, 'taskId' | 'patientId'>> {
  const [task] = await sql<Pick<Task, 'taskId' | 'patientId'>[]>`
    select task_id, patient_id from tasks where task_id = ${taskId}`;
  if (!task) throw new EmrError('NOT_FOUND', `No task with id '${taskId}'.`, { record: 'task' });
  return task;
}

export async function listTasks(sql: Query, patientId: string, { page, pageSize }: Page) {
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from tasks where patient_id = ${patientId}`;
  const tasks = await sql<Omit<TaskDetails, 'notes'>[]>`
    select task_id, patient_id, subject, description, assigned_to, staff.display_name as assigned_to_name,
      phone_call_type_id, codes.name as phone_call_type, notify_list, status_code, created_at, created_by
    from tasks left join staff on staff_id = assigned_to
      left join codes on list = 'phone_call_type' and code = phone_call_type_id
    where patient_id = ${patientId}
    order by length(task_id), task_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  const notes = await sql<(TaskNote & { taskId: string })[]>`
    select task_id, at, by, text from task_notes where task_id = any(${tasks.map(({ taskId }) => taskId)})
    order by length(task_note_id), task_note_id`;
  const rows = tasks.map((task) => ({
    ...task,
    notes: notes.filter(({ taskId }) => taskId === task.taskId).map(({ at, by, text }) => ({ at, by, text })),
  }));
  return { total: counted?.total ?? 0, page, pageSize, rows };
}

export async function findMrnOfTask(sql: Query, taskId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`
    select mrn from tasks join patients using (patient_id) where task_id = ${taskId}`;
  return patient?.mrn;
}
