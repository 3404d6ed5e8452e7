import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { pythonModule } from '../../scripts/sdk/python.ts';
import { typescriptTypes } from '../../scripts/sdk/typescript.ts';
import { composeOpenApi } from '../../src/http/openapi/openApi.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';

const run = promisify(execFile);
async function readRuntimes(): Promise<[string, string]> {
  return [await readFile('scripts/sdk/runtime.py', 'utf8'), await readFile('scripts/sdk/asyncRuntime.py', 'utf8')];
}
const document = composeOpenApi(endpoints, { version: '0.0.0', base_url: 'http://127.0.0.1:4000' });
const python = pythonModule(document, ...(await readRuntimes()));
const has_python = await run('python3', ['--version']).then(
  () => true,
  () => false,
);

test('flags are booleans too, and optional fields of requests may be null, in both libraries', () => {
  const types = typescriptTypes(document);
  expect(types).toMatch(/is_reviewed\?: "true" \| "false" \| boolean;/);
  expect(types).toMatch(/is_high_priority\?: "true" \| "false" \| boolean \| null;/);
  expect(types).toMatch(/middle_name\?: string \| null;/);
  expect(python).toContain('is_reviewed: Union[Literal["true", "false"], bool]');
  expect(python).toContain('is_high_priority: Optional[Union[Literal["true", "false"], bool]]');
});

test.skipIf(!has_python)('the Python module uploads an open file under its name', async () => {
  await mkdir(inject('scratch_folder'), { recursive: true });
  const folder = await mkdtemp(join(inject('scratch_folder'), 'python-'));
  await writeFile(join(folder, 'chartwire.py'), python);
  await writeFile(join(folder, 'referral.pdf'), '%PDF-content');
  const program = `
import chartwire, json, os
path = os.path.join(os.environ["PYTHONPATH"], "referral.pdf")
with open(path, "rb") as opened:
    form, _ = chartwire._form({"document": opened, "is_reviewed": True})
try:
    with open(path) as opened:
        chartwire._form({"document": opened})
except TypeError as error:
    refused = str(error)
print(json.dumps([form.decode(), refused]))
`;
  const env = { PATH: process.env.PATH ?? '', PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await run('python3', ['-c', program], { env });
  const [form, refused] = JSON.parse(stdout);
  expect(form).toContain('name="document"; filename="referral.pdf"');
  expect(form).toContain('%PDF-content');
  expect(form).toMatch(/name="is_reviewed"\r\n\r\ntrue\r\n/);
  expect(refused).toBe('Open the file to upload in binary mode: open(path, "rb").');
});
