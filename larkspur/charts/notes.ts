import type { Query } from '../database/open.ts';
import type { Page } from '../records/recordKind.ts';

/** The parts of a structured note. */
export interface NoteSections {
  subjective: string | null;
  objective: string | null;
  assessment: string | null;
  plan: string | null;
}

/** A note on a visit: a text, or sections with codes. */
export interface VisitNote {
  visitNoteId: string;
  appointmentId: string;
  patientId: string;
  text: string | null;
  sections: NoteSections | null;
  icdCodes: string[];
  cptCodes: string[];
  createdAt: Date;
  createdBy: string;
}

/** A note in the chart that belongs to no visit. */
export interface PatientNote {
  patientNoteId: string;
  patientId: string;
  subject: string;
  text: string;
  facilityId: string;
  createdAt: Date;
  createdBy: string;
}

export async function addVisitNote(sql: Query, note: Omit<VisitNote, 'visitNoteId'>): Promise<string> {
  const row = {
    ...note,
    sections: note.sections && sql.json(note.sections),
    icdCodes: sql.json(note.icdCodes),
    cptCodes: sql.json(note.cptCodes),
  };
  const [added] = await sql<{ visitNoteId: string }[]>`
    insert into visit_notes ${sql.values(row)} returning visit_note_id`;
  return added?.visitNoteId ?? '';
}

export async function addPatientNote(sql: Query, note: Omit<PatientNote, 'patientNoteId'>): Promise<string> {
  const [added] = await sql<{ patientNoteId: string }[]>`
    insert into patient_notes ${sql.values(note)} returning patient_note_id`;
  return added?.patientNoteId ?? '';
}

export async function listVisitNotes(sql: Query, patientId: string, { page, pageSize }: Page) {
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from visit_notes where patient_id = ${patientId}`;
  const rows = await sql<VisitNote[]>`
    select visit_note_id, appointment_id, patient_id, text, sections, icd_codes, cpt_codes, created_at, created_by
    from visit_notes where patient_id = ${patientId}
    order by length(visit_note_id), visit_note_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

/** The notes on one visit, oldest first. */
export async function listNotesOfVisit(sql: Query, appointmentId: string): Promise<VisitNote[]> {
  return sql<VisitNote[]>`
    select visit_note_id, appointment_id, patient_id, text, sections, icd_codes, cpt_codes, created_at, created_by
    from visit_notes where appointment_id = ${appointmentId} order by length(visit_note_id), visit_note_id`;
}

export async function listPatientNotes(sql: Query, patientId: string, { page, pageSize }: Page) {
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from patient_notes where patient_id = ${patientId}`;
  const rows = await sql<PatientNote[]>`
    select patient_note_id, patient_id, subject, text, facility_id, created_at, created_by
    from patient_notes where patient_id = ${patientId}
    order by length(patient_note_id), patient_note_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function findMrnOfAppointment(sql: Query, appointmentId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`
    select mrn from appointments join patients using (patient_id) where appointment_id = ${appointmentId}`;
  return patient?.mrn;
}
