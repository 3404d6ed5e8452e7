import { expect, vi } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

export const polling = { timeout: 60_000, interval: 25 };

/** The product on its own port, because the URL of the built-in receiver contains it, and an owner session. */
export async function startEventsFixture(): Promise<TestSandbox & { operator: TestOperator }> {
  const fixture = await startSandbox({ small: true, env: { PORT: `${await freePort()}` } });
  return { ...fixture, operator: await signInOperator(fixture) };
}

/** Makes a write, waits until its event has this status, and returns the event's id. */
export async function writeUntil(
  { api, operator }: Pick<TestSandbox, 'api'> & { operator: TestOperator },
  status: 'success' | 'failed' | 'pending' | null,
  attempts = status === null ? 0 : 1,
): Promise<string> {
  const { job_id } = (await api.callIn()).body;
  return vi.waitFor(async () => {
    const { body } = await operator.get(`clients/{client}/events?job_id=${job_id}`);
    const [row] = body.rows;
    expect(row?.delivery_status).toBe(status);
    expect(row?.tries).toBeGreaterThanOrEqual(attempts);
    return row.id as string;
  }, polling);
}
