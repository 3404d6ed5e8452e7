import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findPdfRisks, type PdfRisk } from '../../src/platform/security/pdfRisks.ts';
import { documents } from '../harness/documents.ts';

const pdf = (...objects: string[]) =>
  Buffer.from(
    `%PDF-1.7\n${objects.map((each, n) => `${n + 1} 0 obj\n${each}\nendobj\n`).join('')}trailer <<>>`,
    'latin1',
  );
const stream = (dictionary: string, content: string | Buffer) =>
  `<< ${dictionary} >>\nstream\n${Buffer.from(content).toString('latin1')}\nendstream`;
const packed = (dictionary: string, content: string) =>
  stream(`${dictionary} /Filter /FlateDecode`, deflateSync(Buffer.from(content, 'latin1')));
const listRisks = async (content: Buffer, bytes_max?: number) => [...(await findPdfRisks(content, bytes_max))];
const attached = (name: string, content: string | Buffer, dictionary = '') =>
  pdf(
    `<< /Type /Filespec /F ${name} /EF << /F 2 0 R >> >>`,
    packed(dictionary, Buffer.from(content).toString('latin1')),
  );
const action = '<< /S /JavaScript /JS (app.alert(1)) >>';

test.each<[string, Buffer]>([
  ['an action', pdf(action)],
  ['an action when the file is opened', pdf('<< /Type/Catalog/OpenAction<</S/JavaScript/JS(x)>> >>')],
  ['scripts by name', pdf('<< /Names << /JavaScript 7 0 R >> >>')],
  ['a name with codes for letters', pdf('<< /S /J#61v#61Script /JS (x) >>')],
  ['a rendition action', pdf('<< /S /Rendition /JS (x) >>')],
  ['an object stream', pdf(packed('/Type /ObjStm /N 1 /First 4', `1 0 ${action}`))],
  ['an object stream that is not compressed', pdf(stream('/Type /ObjStm /N 1 /First 4', `1 0 ${action}`))],
  ['an object stream whose type has codes for letters', pdf(packed('/Type /#4fbj#53tm /N 1', action))],
  ['the second object stream', pdf(packed('/Type /ObjStm', '<< /A 1 >>'), packed('/Type /ObjStm', action))],
  ['an XFA form', pdf('<< /XFA 2 0 R >>', packed('', '<xdp:xdp><script contentType="application/x-javascript">'))],
])('finds a script in %s', async (_case, content) => {
  expect(await listRisks(content)).toStrictEqual(['script']);
});

test.each<[string, Buffer]>([
  ['an encrypted object stream', pdf('<< /Encrypt 9 0 R >>', packed('/Type /ObjStm', '<< /A 1 >>'))],
  ['an object stream with several filters', pdf(stream('/Type /ObjStm /Filter [/ASCIIHexDecode /FlateDecode]', '00'))],
  ['an object stream with a filter named elsewhere', pdf(stream('/Type /ObjStm /Filter 9 0 R', '00'))],
  ['an object stream with a predictor', pdf(packed('/Type /ObjStm /DecodeParms << /Predictor 12 >>', '<< >>'))],
  ['an object stream that is not what it says', pdf(stream('/Type /ObjStm /Filter /FlateDecode', 'no zlib'))],
  ['an object stream whose data does not follow', pdf(`<< /Type /ObjStm ${' '.repeat(3000)} >>\nstream\n`)],
])('says that it cannot look into %s', async (_case, content) => {
  expect(await listRisks(content)).toStrictEqual(['unknown']);
});

test.each<[string, Buffer]>([
  ['a plain file', documents.pdf],
  ['object streams', pdf(packed('/Type /ObjStm /N 1', '<< /Type /Page >>'), packed('/Type /XRef /Predictor 12', 'xx'))],
  ['a text about JavaScript', pdf(stream('', '(JavaScript and JS) Tj'))],
  ['encryption without object streams', pdf('<< /Encrypt 9 0 R >>', packed('/Length 5', 'text'))],
  ['a form without scripts', pdf('<< /XFA 2 0 R >>', packed('', '<xdp:xdp><subform name="script"/></xdp:xdp>'))],
  ['a video without scripts', pdf('<< /S /Rendition /OP 0 >>')],
  ['links and jumps', pdf('<< /S /URI /URI (https://example.org) >>', '<< /S /GoTo /D [3 0 R /Fit] >>')],
  ['a jump into a file next to it', pdf('<< /S /GoToR /F (part 2/notes.pdf) /D [0 /Fit] >>')],
  [
    'an attached XML document',
    attached('(ccda.xml)', '<?xml version="1.0"?><ClinicalDocument/>', '/Type /EmbeddedFile'),
  ],
  ['an attached PDF', attached('(scan.pdf)', documents.pdf)],
  ['four attached PDFs', Buffer.concat([1, 2, 3, 4].map(() => attached('(scan.pdf)', documents.pdf)))],
  ['a picture in a file with an attachment', pdf('<< /EF 2 0 R >>', stream('/Filter /DCTDecode', 'MZ'))],
])('accepts %s', async (_case, content) => {
  expect(await listRisks(content)).toStrictEqual([]);
});

test('gives up on a file with more streams than its size allows', async () => {
  const nested = Buffer.from(`%PDF-1.7 /EF ${'stream\n'.repeat(9_000)}${' '.repeat(500_000)}endstream`);
  const start = process.cpuUsage();
  expect(await listRisks(nested)).toStrictEqual(['unknown']);
  // Without a limit it takes minutes.
  expect(process.cpuUsage(start).user / 1e6).toBeLessThan(20);
});

test('does not look into streams that expand beyond the limit', async () => {
  const objects = pdf(packed('/Type /ObjStm', ' '.repeat(600)), packed('/Type /ObjStm', ' '.repeat(600)));
  expect(await listRisks(objects, 1300)).toStrictEqual([]);
  expect(await listRisks(objects, 1100)).toStrictEqual(['unknown']);
});

test.each<[PdfRisk, string, Buffer]>([
  ['action', 'starts a program', pdf('<< /S /Launch /Win << /F (cmd.exe) >> >>')],
  ['action', 'starts a program, in an object stream', pdf(packed('/Type /ObjStm /N 1', '1 0 << /S /Launch /F (a) >>'))],
  ['action', 'starts a program, with codes for letters', pdf('<< /S /L#61unch /F (a) >>')],
  ['action', 'sends a form', pdf('<< /S /SubmitForm /F (https://example.org) >>')],
  ['action', 'loads data', pdf('<< /S /ImportData /F (a.fdf) >>')],
  ['action', 'plays rich media', pdf('<< /Type /Annot /Subtype /RichMedia >>')],
  ['action', 'opens an attachment', pdf('<< /S /GoToE /T << /R /C /N (a) >> >>')],
  ['action', 'opens a network path', pdf('<< /S /GoToR /F (\\\\\\\\host\\\\share\\\\a.pdf) /D [0 /Fit] >>')],
  ['action', 'opens a network path with slashes', pdf('<< /S /GoToR /F (//host/share/a.pdf) >>')],
  ['action', 'opens a URL', pdf('<< /S /GoToR /F (https://example.org/a.pdf) >>')],
  ['action', 'opens a path in hexadecimal', pdf('<< /S /GoToR /F <5c5c686f73745c61> >>')],
  ['action', 'opens a file that another object names', pdf('<< /S /GoToR /F 5 0 R >>')],
  ['action', 'opens the second of two files', pdf('<< /S /GoToR /F (a.pdf) /UF (//host/a.pdf) >>')],
  ['action', 'hides the file behind a string', pdf('<< /F (//host/a.pdf) /X (<<) /S /GoToR /F (a.pdf) >>')],
  ['action', 'is attached to another PDF', attached('(a.pdf)', pdf('<< /S /Launch /F (a) >>'))],
  ['attachment', 'has an attached program', attached('(notes.txt)', 'MZ\x90\x00')],
  ['attachment', 'has an attached program without a type', attached('(notes.txt)', '\x7fELF\x02\x01\x01')],
  ['attachment', 'has an attached archive', attached('(notes.txt)', 'PK\x03\x04\x14\x00')],
  ['attachment', 'has an attachment with the name of a program', attached('(invoice.pdf.exe)', 'text')],
  ['attachment', 'has such a name with escapes', attached('(invoice.e\\170e)', 'text')],
  ['attachment', 'has such a name in UTF-16', attached('<FEFF0061002e006a0073>', 'text')],
  [
    'attachment',
    'has a program in an attachment that is not compressed',
    pdf('<< /EF 2 0 R >>', stream('/Length 4', 'MZ..')),
  ],
  ['unknown', 'has an attachment with another encoding', pdf('<< /EF 2 0 R >>', stream('/Filter /ASCII85Decode', 'x'))],
  ['unknown', 'is encrypted and has attachments', pdf('<< /Encrypt 9 0 R >>', '<< /EmbeddedFiles 3 0 R >>')],
])('finds the risk “%s” in a file that %s', async (risk, _case, content) => {
  expect(await listRisks(content)).toStrictEqual([risk]);
});
