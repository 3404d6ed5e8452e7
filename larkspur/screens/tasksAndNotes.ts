import type { VisitNote } from '../charts/notes.ts';
import { factList, type Html, html, newMark, type Part, part } from './html.ts';
import type { Chart } from './readChart.ts';

export function taskPart({ tasks, isNew, name, time }: Chart): Part {
  return part(
    'Tasks',
    'No tasks.',
    tasks.map(
      (task) => html`<article class="encounter" id="task-${task.taskId}">
<h3>${task.subject} <span class="muted">#${task.taskId}</span>${newMark(isNew(`task-${task.taskId}`))}</h3>
<p class="muted">${time(task.createdAt)}, created by ${task.createdBy}</p>
<blockquote>${task.description}</blockquote>
${factList([
  ['Status', task.statusCode === 'OPN' ? 'Open' : 'Closed'],
  ['Assigned to', name('staff', task.assignedTo)],
  ['Type of call', task.phoneCallType ?? task.phoneCallTypeId],
  ['Notify', task.notifyList.map((id) => name('staff', id)).join(', ')],
])}
<h4>Notes</h4>
${task.notes.length === 0 && html`<p class="muted">No notes.</p>`}
<ol class="log">
${task.notes.map((note) => html`<li><span class="muted">${time(note.at)}, ${note.by}</span><br>${note.text}</li>`)}
</ol>
</article>`,
    ),
  );
}

/** The notes of the chart, those on visits first. */
export function notePart({ visitNotes, patientNotes, isNew, name, time }: Chart): Part {
  return part('Notes', 'No notes.', [
    ...visitNotes.map((note) => visitNoteArticle(note, time, isNew)),
    ...patientNotes.map(
      (note) => html`<article class="encounter" id="patient-note-${note.patientNoteId}">
<h3>${note.subject} <span class="muted">#${note.patientNoteId}</span>${newMark(isNew(`patient-note-${note.patientNoteId}`))}</h3>
<p class="muted">${time(note.createdAt)}, ${note.createdBy}, ${name('facility', note.facilityId)}</p>
<blockquote>${note.text}</blockquote>
</article>`,
    ),
  ]);
}

export function visitNoteArticle(note: VisitNote, time: Chart['time'], isNew: Chart['isNew'] = () => false): Html {
  const { sections } = note;
  return html`<article class="encounter" id="visit-note-${note.visitNoteId}">
<h3>Visit note <span class="muted">#${note.visitNoteId}</span>${newMark(isNew(`visit-note-${note.visitNoteId}`))}</h3>
<p class="muted">${time(note.createdAt)}, ${note.createdBy}, <a href="/appointments/${encodeURIComponent(note.appointmentId)}">visit ${note.appointmentId}</a></p>
${note.text !== null && html`<blockquote>${note.text}</blockquote>`}
${factList([
  ['Subjective', sections?.subjective],
  ['Objective', sections?.objective],
  ['Assessment', sections?.assessment],
  ['Plan', sections?.plan],
  ['ICD-10', note.icdCodes.join(', ')],
  ['CPT', note.cptCodes.join(', ')],
])}
</article>`;
}
