import { quoted } from '../../parts/shell.ts';

/**
 * A shell command that sends an event again from the reader's machine, for example to a receiver under development. It
 * signs the event as the service does, with the endpoint's secret from WEBHOOK_SECRET: receivers reject the time of the
 * first attempt.
 */
export function toReplay({ id, body, url }: { id: string; body: string; url: string }): string {
  return [
    `: "\${WEBHOOK_SECRET:?Set WEBHOOK_SECRET to the secret of the endpoint, whsec_…}"`,
    `body=${quoted(body)}`,
    'timestamp=$(date +%s)',
    `key=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -vtx1 | tr -d ' \\n')`,
    `signature=$(printf %s "${id}.$timestamp.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)`,
    [
      `curl -X POST ${quoted(url)}`,
      `-H 'content-type: application/json'`,
      `-H 'webhook-id: ${id}'`,
      '-H "webhook-timestamp: $timestamp"',
      '-H "webhook-signature: v1,$signature"',
      '--data-binary "$body"',
    ].join(' \\\n  '),
  ].join('\n');
}
