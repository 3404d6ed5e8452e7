import { supportsField } from '../connector.ts';
import { type FieldSample, type RequestFields, sample_id } from '../operations/operation.ts';
import { type FieldOperation, operations, type WriteName, write_names } from '../operations/operations.ts';
import { type Check, type Environment, expectFailure, fail } from './environment.ts';
import { isWrite, unreachable } from './interceptors.ts';
import { prepareWrite } from './preparedWrites.ts';

type FieldWrite = Extract<FieldOperation, WriteName>;
const names = write_names.filter((name): name is FieldWrite => 'fields' in operations[name]);

/** A sample, independent of the type of its operation. */
type AnySample = Omit<FieldSample<unknown>, 'adds'> & { add: (input: unknown) => unknown };

function listSamples(name: FieldWrite): [field: string, AnySample][] {
  const { samples }: RequestFields<object> = operations[name].fields;
  return Object.entries(samples).map(([field, { adds, ...sample }]) => [
    field,
    { ...sample, add: (input) => Object.assign({}, input, adds) },
  ]);
}

/** What a connector declares about fields must be true: a supported field is written, any other one is refused. */
export const fieldChecks: readonly Check[] = names.map((name) => ({
  id: `${name}.fields`,
  expectation: 'every supported field is written; every other one is refused by name before anything is written',
  run: async (env) => {
    await prepareWrite(env, name); // skips what the EMR does not offer
    const capabilities = await env.capabilities();
    for (const [field, sample] of listSamples(name)) {
      if (supportsField(env.connector, capabilities, name, field)) await expectWritten(env, name, field, sample);
      else if (sample.refused_by !== 'api') await expectRefused(env, name, field, sample);
    }
  },
}));

async function expectRefused(env: Environment, name: FieldWrite, field: string, sample: AnySample): Promise<void> {
  const { write, input, marker, calls } = await prepareWrite(env, name);
  const send = () => write.send(sample.add(input), marker);
  const failure = await expectFailure(env, `unsupported field ${field}`, send, ['refused']);
  if (!failure.message.includes(`'${field}'`)) fail(`the refusal of ${field} does not name it`);
  if (calls.some(isWrite)) fail(`${field} was refused after something had been written`);
}

async function expectWritten(env: Environment, name: FieldWrite, field: string, sample: AnySample): Promise<void> {
  if (sample.effect_checked_by !== undefined) return;
  if (sample.shows !== undefined) {
    const bodies = await collectBodies(env, name, sample.add);
    if (!bodies.some((body) => body.includes(sample.shows ?? '')))
      fail(`${field} is declared as supported but not sent`);
    return;
  }
  const { input, marker } = await prepareWrite(env, name);
  const [without, including] = [
    await unsentBodies(env, name, { input, marker }),
    await unsentBodies(env, name, { input: sample.add(input), marker }),
  ];
  if (without !== including) return;
  // It may be in a record that is written after the first one, or make one necessary.
  const countWrites = async (add: AnySample['add']) => (await collectBodies(env, name, add)).length;
  const writes = await countWrites((same) => same);
  if ((await countWrites(sample.add)) !== writes) return;
  const allBodies = (sent: unknown) => unsentBodies(env, name, { input: sent, marker, writes });
  if ((await allBodies(input)) === (await allBodies(sample.add(input))))
    fail(`${field} is declared as supported but not sent`);
}

/** The bodies of the first write requests, the last of which is not sent. */
async function unsentBodies(
  env: Environment,
  name: FieldWrite,
  { input, marker, writes = 1 }: { input: unknown; marker: string; writes?: number },
): Promise<string> {
  const bodies: string[] = [];
  const { write } = await prepareWrite(env, name, (call, pass, request) => {
    if (!isWrite(call)) return pass();
    bodies.push(`${call.url} ${withoutAssigned(request.body)}`);
    return bodies.length < writes ? pass() : unreachable(call, pass, request);
  });
  await expectFailure(env, 'unreachable', () => write.send(input, marker), ['unavailable', 'refused', 'not_found']);
  return bodies.slice(0, writes).join('\n');
}

/** The bodies of all write requests of a write that succeeds. */
async function collectBodies(env: Environment, name: FieldWrite, add: AnySample['add']): Promise<string[]> {
  const bodies: string[] = [];
  const { write, input, marker } = await prepareWrite(env, name, (call, pass, request) => {
    if (isWrite(call)) bodies.push(withoutAssigned(request.body));
    return pass();
  });
  await env.track(write.send(await withRealIds(env, add(input)), marker));
  return bodies;
}

/** Times of writing, and ids that the EMR assigns, differ between two requests with the same input. */
function withoutAssigned(body: string | Buffer | undefined): string {
  return String(body ?? '')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '');
}

/** Another staff member than that of the sample, for writes that must succeed. */
async function withRealIds(env: Environment, input: unknown): Promise<unknown> {
  if (typeof input !== 'object' || input === null || !('assigned_to_ehr_id' in input)) return input;
  if (input.assigned_to_ehr_id !== sample_id) return input;
  const [staff] = await env.rows('listStaff');
  return staff ? { ...input, assigned_to_ehr_id: staff.ehr_id } : input;
}
