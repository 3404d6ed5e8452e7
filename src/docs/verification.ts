/** How a receiver makes sure that an event is ours: shown in the reference, and run by its test. */
export const verification = `import { createHmac, timingSafeEqual } from 'node:crypto';

// body: the raw text of the request, before anything parses it
export function isGenuine(headers, body, secret) {
  const sent_s = Number(headers['webhook-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - sent_s) < 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const content = \`\${headers['webhook-id']}.\${sent_s}.\${body}\`;
  const expected = createHmac('sha256', key).update(content).digest();
  // After a rotation there is one signature for each secret that is still valid.
  return headers['webhook-signature'].split(' ').some((each) => {
    const given = Buffer.from(each.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}`;
