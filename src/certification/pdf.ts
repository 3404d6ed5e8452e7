/** The smallest honest PDF, with a comment in it that makes it unlike any other. */
export function pdf(comment: string): Buffer {
  const head = `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n%${comment}\n`;
  const xref = 'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n';
  return Buffer.from(`${head}${xref}trailer << /Size 3 /Root 1 0 R >>\nstartxref\n${head.length}\n%%EOF\n`, 'latin1');
}
