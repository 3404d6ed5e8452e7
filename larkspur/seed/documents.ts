import { daysFrom } from './days.ts';
import type { SeededPatient } from './patients.ts';
import type { Chance } from './random.ts';

/** One document for every second patient, three for the first, with their folders. */
export function documentRows(chance: Chance, now: Date, patients: SeededPatient[]) {
  const owners = patients.filter((_, index) => index % 2 === 0);
  const documents = owners.flatMap(({ patientId }, index) =>
    chance.sample(samples, index === 0 ? 3 : 1).map(([folderPath, title]) => ({ patientId, folderPath, title })),
  );
  const folders = new Set(
    documents.flatMap(({ patientId, folderPath }) => {
      const [top = ''] = folderPath.split('/');
      return [`${patientId} ${top}`, `${patientId} ${folderPath}`];
    }),
  );
  return {
    folders: [...folders].map((folder) => {
      const [patientId, ...path] = folder.split(' ');
      return { patientId, path: path.join(' ') };
    }),
    documents: documents.map(({ patientId, folderPath, title }, index) => {
      const content = onePagePdf(title);
      return {
        documentId: String(95001 + index),
        patientId,
        folderPath,
        fileName: `${title.toLowerCase().replaceAll(' ', '-')}.pdf`,
        contentType: 'application/pdf',
        sizeBytes: content.length,
        content: `\\x${content.toString('hex')}`,
        notes: chance.happens(0.3) ? 'Received by fax.' : null,
        reviewedFlag: chance.happens(0.6) ? 'Y' : 'N',
        priority: chance.happens(0.1) ? 'H' : 'N',
        assignedTo: chance.happens(0.5) ? '711' : null,
        templateName: null,
        createdAt: daysFrom(now, -1 - chance.below(300)),
        createdBy: 'Kendall Folderman',
      };
    }),
  };
}

const samples: [folderPath: string, title: string][] = [
  ['Correspondence', 'Referral letter'],
  ['Lab results/External', 'Outside laboratory report'],
  ['Insurance/Cards', 'Insurance card'],
  ['Consents', 'Treatment consent'],
];

/** A minimal valid PDF: one page with one line of text. */
function onePagePdf(line: string): Buffer {
  const text = `BT /F1 18 Tf 72 720 Td (${line} - specimen) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`;
  return Buffer.from(body + table + trailer, 'latin1');
}
