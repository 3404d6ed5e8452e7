import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { mayContainScript } from '../../src/security/pdfScripts.ts';
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
  expect(await mayContainScript(content)).toBe(true);
});

test.each<[string, Buffer]>([
  ['an encrypted object stream', pdf('<< /Encrypt 9 0 R >>', packed('/Type /ObjStm', '<< /A 1 >>'))],
  ['an object stream with several filters', pdf(stream('/Type /ObjStm /Filter [/ASCIIHexDecode /FlateDecode]', '00'))],
  ['an object stream with a filter named elsewhere', pdf(stream('/Type /ObjStm /Filter 9 0 R', '00'))],
  ['an object stream with a predictor', pdf(packed('/Type /ObjStm /DecodeParms << /Predictor 12 >>', '<< >>'))],
  ['an object stream that is not what it says', pdf(stream('/Type /ObjStm /Filter /FlateDecode', 'no zlib'))],
  ['an object stream whose data does not follow', pdf(`<< /Type /ObjStm ${' '.repeat(3000)} >>\nstream\n`)],
])('assumes a script where it cannot look: %s', async (_case, content) => {
  expect(await mayContainScript(content)).toBe(true);
});

test.each<[string, Buffer]>([
  ['a plain file', documents.pdf],
  ['object streams', pdf(packed('/Type /ObjStm /N 1', '<< /Type /Page >>'), packed('/Type /XRef /Predictor 12', 'xx'))],
  ['a text about JavaScript', pdf(stream('', '(JavaScript and JS) Tj'))],
  ['encryption without object streams', pdf('<< /Encrypt 9 0 R >>', packed('/Length 5', 'text'))],
  ['a form without scripts', pdf('<< /XFA 2 0 R >>', packed('', '<xdp:xdp><subform name="script"/></xdp:xdp>'))],
  ['a video without scripts', pdf('<< /S /Rendition /OP 0 >>')],
])('accepts %s', async (_case, content) => {
  expect(await mayContainScript(content)).toBe(false);
});

test('assumes a script in streams that expand beyond the limit', async () => {
  const objects = pdf(packed('/Type /ObjStm', ' '.repeat(600)), packed('/Type /ObjStm', ' '.repeat(600)));
  expect(await mayContainScript(objects, 1300)).toBe(false);
  expect(await mayContainScript(objects, 1100)).toBe(true);
});
