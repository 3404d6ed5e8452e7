/** Sample code that verifies an event's signature: shown in the reference, and executed by its test. */
export const verification = `import { createHmac, timingSafeEqual } from 'node:crypto';

// body: the raw text of the request, before anything parses it
export function isGenuine(headers, body, secret) {
  const sent_s = Number(headers['webhook-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - sent_s) < 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const content = \`\${headers['webhook-id']}.\${sent_s}.\${body}\`;
  const expected = createHmac('sha256', key).update(content).digest();
  // After a rotation there is one signature for each valid secret.
  return headers['webhook-signature'].split(' ').some((each) => {
    const received = Buffer.from(each.replace(/^v1,/, ''), 'base64');
    return received.length === expected.length && timingSafeEqual(received, expected);
  });
}`;
