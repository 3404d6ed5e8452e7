import { type Static, Type } from 'typebox';
import { flag, refersTo, text } from '../fields.ts';

/** `document` is the file of the form; the parsed body only contains its name. */
export const DocumentRequest = Type.Object(
  {
    folder_name: text({
      maxLength: 500,
      description: 'Folder in the patient’s chart; nested folders with forward slashes',
    }),
    patient_mrn: text({ description: 'Medical Record Number of the patient' }),
    document: Type.String({
      contentMediaType: 'application/octet-stream',
      examples: ['referral.pdf'],
      description: 'PDF, JPEG or PNG file (detected by content), at most 5 MB',
    }),
    emr_assigned_to_id: Type.Optional(
      text({ ...refersTo('staff.ehr_id'), description: 'EMR ID of the staff member, from GET /v1/staff (ehr_id)' }),
    ),
    is_reviewed: Type.Optional(flag('Whether the document is marked as reviewed; default false')),
    notes: Type.Optional(
      text({ description: 'Notes about the document', maxLength: 1000, examples: ['Received by fax.'] }),
    ),
    is_high_priority: Type.Optional(flag('Whether the document is marked as high priority; default false')),
    template_name: Type.Optional(text({ description: 'Template used for the upload form' })),
  },
  { schema_name: 'DocumentCreate', description: 'A document to upload, as a multipart form' },
);
export type DocumentRequest = Static<typeof DocumentRequest>;

export const document_bytes_max = 5_242_880;

/** Where a body has files in base64: in the elements of `list`, in the field `content`. */
export type EmbeddedFiles = { list: string; content: string };

/** What stands for a file in the body of a request, and in what is stored of it. */
export function filePlaceholder(position: number, bytes: number): string {
  return `[file ${position}, ${bytes} bytes]`;
}

/** The position of the file that a placeholder stands for. */
export function filePosition(placeholder: string): number | undefined {
  const [, position] = /^\[file (\d+), \d+ bytes\]$/.exec(placeholder) ?? [];
  return position === undefined ? undefined : Number(position);
}

/** Without the directories and control characters that a caller may have sent. `file` if nothing is left. */
export function cleanFileName(sent: string | undefined): string {
  const name = (sent ?? '').replace(/^.*[/\\]/s, '').replace(/\p{Cc}/gu, '');
  return [...name.trim()].slice(0, file_name_max).join('') || 'file';
}

const file_name_max = 200;
