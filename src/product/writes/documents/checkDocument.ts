import { apiError } from '../../../catalog/errors.ts';
import { sizeText } from '../../../model/fields.ts';
import { type DocumentType, hasPdfHeader, sniffDocument } from '../../../platform/security/documents.ts';
import { findPdfRisks } from '../../../platform/security/pdfRisks.ts';
import type { Context } from '../../context.ts';

/** The type of a file by its content. Throws if it is no document, or one with risks. `field`: of the request. */
export async function checkDocument(ctx: Context, file: Buffer | undefined, field: string): Promise<DocumentType> {
  const document_type = file && sniffDocument(file);
  if (!document_type) {
    const code = file && hasPdfHeader(file) ? 'document_broken' : 'document_type_unsupported';
    throw apiError(code, { document: nameDocument(field) }, { field });
  }
  if (document_type === 'application/pdf') await refuseRisks(file, ctx.config.pdf_javascript, field);
  return document_type;
}

/** `bytes_max`: the largest file that the EMR takes; null: unknown. */
export function checkDocumentSize({ length }: Buffer, bytes_max: number | null, field: string): void {
  if (bytes_max === null || length <= bytes_max) return;
  throw apiError('document_over_emr_limit', { document: nameDocument(field), limit: sizeText(bytes_max) }, { field });
}

/** `scripts_allowed`: PDF_JAVASCRIPT, which also accepts what cannot be inspected. */
async function refuseRisks(file: Buffer, scripts_allowed: boolean, field: string): Promise<void> {
  const risks = await findPdfRisks(file);
  const document = nameDocument(field);
  if (risks.has('action')) throw apiError('document_action_refused', { document }, { field });
  if (risks.has('attachment')) throw apiError('document_attachment_refused', { document }, { field });
  if (risks.size > 0 && !scripts_allowed) throw apiError('document_script_refused', { document }, { field });
}

/** `documents[0]` for its content; `document` where there is only one. */
function nameDocument(field: string): string {
  return field.split('.', 1)[0] ?? field;
}
