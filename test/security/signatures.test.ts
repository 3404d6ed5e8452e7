import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newWebhookSecret } from '../../src/catalog/ids.ts';
import { signWebhook } from '../../src/platform/security/signatures.ts';

const now_s = () => Math.floor(Date.now() / 1000);

test('signatures verify with the standardwebhooks package for every active secret and no other', () => {
  fc.assert(
    fc.property(fc.json(), fc.integer({ min: 1, max: 3 }), (body, count) => {
      const secrets = Array.from({ length: count }, newWebhookSecret);
      const headers = signWebhook({ id: 'a'.repeat(32), timestamp_s: now_s(), body, secrets });
      for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => new Webhook(newWebhookSecret()).verify(body, headers)).toThrow();
      expect(() => new Webhook(secrets[0] ?? '').verify(`${body} `, headers)).toThrow();
    }),
    { numRuns: 50 },
  );
});

test('matches the known test vector, with the newest secret first', () => {
  // From the test suite of the Standard Webhooks specification.
  const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', newWebhookSecret()];
  const body = '{"test": 2432232314}';
  const headers = signWebhook({ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp_s: 1614265330, body, secrets });
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': expect.stringMatching(/^v1,g0hM9SsE\+OTPJTGt\/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,[\w+/]{43}=$/),
    'cobalt-verification': createHmac('sha256', secrets[0] ?? '')
      .update(body)
      .digest('hex'),
  });
});

test('signs non-ASCII text as UTF-8', () => {
  const secret = newWebhookSecret();
  const body = JSON.stringify({ name: 'Zoë 😀' });
  const headers = signWebhook({ id: 'x', timestamp_s: now_s(), body, secrets: [secret] });
  expect(new Webhook(secret).verify(Buffer.from(body, 'utf8'), headers)).toEqual({ name: 'Zoë 😀' });
});

test.each([[[]], [['']], [['whsec_']], [['whsec_c2hvcnQ=']], [['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']]])(
  'rejects the secrets %j',
  (secrets) => {
    expect(() => signWebhook({ id: 'x', timestamp_s: 1, body: '{}', secrets })).toThrow(/secret/);
  },
);
