import { daysFrom } from './days.ts';

/** One task per example patient, each with a note. */
export function taskRows(now: Date) {
  const tasks = [
    {
      ...{ taskId: '700001', patientId: '10001', subject: 'Prior authorization' },
      description: 'Ask the insurance company about the authorization for physical therapy.',
      ...{ assignedTo: '703', phoneCallTypeId: '2', notifyList: ['704'] },
    },
    {
      ...{ taskId: '700002', patientId: '10002', subject: 'Test results' },
      description: 'Tell the patient that the results are normal.',
      ...{ assignedTo: '704', phoneCallTypeId: '5', notifyList: [] },
    },
  ].map((task) => ({ ...task, createdAt: daysFrom(now, -3), createdBy: 'Avery Deskwell' }));
  const notes = tasks.map(({ taskId }, index) => ({
    ...{ taskNoteId: String(700_101 + index), taskId, at: daysFrom(now, -2), by: 'Blair Counterby' },
    text: 'Called, no answer.',
  }));
  return { tasks, notes };
}
