import { takesField } from '../connectors/fieldSupport.ts';
import { type Check, expectFailure } from './check.ts';
import type { Environment } from './environment.ts';
import { type AnyFieldSample, type FieldWrite, field_samples, withRealIds } from './fieldSamples.ts';
import { isWrite, unreachable } from './interceptors.ts';
import { fail } from './outcomes.ts';
import { prepareWrite } from './prepareWrite.ts';

// Object.keys loses the type of the keys.
const names = Object.keys(field_samples) as FieldWrite[];

/** What a connector declares about fields must be true: a supported field is written, any other one is refused. */
export const fieldChecks: readonly Check[] = names.map((name) => ({
  id: `${name}.fields`,
  expectation: 'every supported field is written; every other one is refused by name before anything is written',
  run: async (env) => {
    await prepareWrite(env, name); // skips what the EMR does not offer
    const capabilities = await env.capabilities();
    // Each sample belongs to the operation of the same name.
    for (const [field, sample] of Object.entries(field_samples[name]) as [string, AnyFieldSample][]) {
      if (takesField(env.connector, capabilities, name, field)) await expectWritten(env, name, field, sample);
      else if (sample.refused_by !== 'api') await expectRefused(env, name, field, sample);
    }
  },
}));

async function expectRefused(env: Environment, name: FieldWrite, field: string, sample: AnyFieldSample): Promise<void> {
  const { write, input, marker, calls } = await prepareWrite(env, name);
  const send = () => write.send(sample.add(input), marker);
  const failure = await expectFailure(env, `unsupported field ${field}`, send, ['refused']);
  if (!failure.message.includes(`'${field}'`)) fail(`the refusal of ${field} does not name it`);
  if (calls.some(isWrite)) fail(`${field} was refused after something had been written`);
}

async function expectWritten(env: Environment, name: FieldWrite, field: string, sample: AnyFieldSample): Promise<void> {
  if (sample.effect_checked_by !== undefined) return;
  if (sample.shows !== undefined) {
    const bodies = await bodiesOf(env, name, sample.add);
    if (!bodies.some((body) => body.includes(sample.shows ?? '')))
      fail(`${field} is declared as supported but not sent`);
    return;
  }
  const { input, marker } = await prepareWrite(env, name);
  const [without, including] = [
    await firstBody(env, name, input, marker),
    await firstBody(env, name, sample.add(input), marker),
  ];
  if (without !== including) return;
  // It may be in a record of its own, which is written after the first one.
  const count = async (add: AnyFieldSample['add']) => (await bodiesOf(env, name, add)).length;
  if ((await count(sample.add)) === (await count((same) => same)))
    fail(`${field} is declared as supported but not sent`);
}

/** The body of the first write request, which is not sent. */
async function firstBody(env: Environment, name: FieldWrite, input: unknown, marker: string): Promise<string> {
  let found = '';
  const { write } = await prepareWrite(env, name, (call, pass, request) => {
    if (!isWrite(call)) return pass();
    found ||= `${call.url} ${withoutTimes(request.body)}`;
    return unreachable(call, pass, request);
  });
  await expectFailure(env, 'unreachable', () => write.send(input, marker), ['unavailable', 'refused', 'not_found']);
  return found;
}

/** The bodies of all write requests of a write that succeeds. */
async function bodiesOf(env: Environment, name: FieldWrite, add: AnyFieldSample['add']): Promise<string[]> {
  const bodies: string[] = [];
  const { write, input, marker } = await prepareWrite(env, name, (call, pass, request) => {
    if (isWrite(call)) bodies.push(withoutTimes(request.body));
    return pass();
  });
  await env.track(write.send(await withRealIds(env, add(input)), marker));
  return bodies;
}

/** Times of writing differ between two requests with the same input. */
function withoutTimes(body: string | Buffer | undefined): string {
  return String(body ?? '').replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '');
}
