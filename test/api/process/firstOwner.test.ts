import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProduction } from '../support.ts';

test('without a terminal, the first password is in a file for this user and not in what is printed', async () => {
  const printed: string[] = [];
  const { service, close } = await startProduction({}, (text) => void printed.push(text));
  try {
    const file = join(service.ctx.config.data_dir, 'first-owner-password.txt');
    const password = (await readFile(file, 'utf8')).trim();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(password).toMatch(/^[\w-]{16}$/);
    expect(printed.join('')).toContain(file);
    expect(printed.join('')).not.toContain(password);
    const { owner_email: email } = service.ctx.config;
    const signed_in = await fetch(`${service.base_url}/dashboard/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: service.base_url },
      body: JSON.stringify({ email, password }),
    });
    const body = (await signed_in.json()) as { session?: { pending_setup: string } };
    expect([signed_in.status, body.session?.pending_setup]).toStrictEqual([200, 'password']);
  } finally {
    await close();
  }
});
