/**
 * What a data key is unwrapped for: by the first part of the binding of the value that is encrypted or decrypted with it,
 * and the two occasions that have none.
 */
export const key_purposes = {
  credentials: 'Sign-in data of EMR accounts',
  grant: 'EMR sessions',
  access_token: 'Access tokens',
  emr_app: 'EMR apps: credentials',
  emr_app_headers: 'EMR apps: headers',
  emr_app_certificate: 'EMR apps: client certificates',
  signing_keys: 'Signing keys for EMRs',
  webhook_secret: 'Webhook secrets',
  webhook_certificate: 'Webhook endpoints: client certificates',
  idempotency: 'Responses stored for an Idempotency-Key',
  page_pending: 'Sign-ins on an EMR’s page: started',
  page_grant: 'Sign-ins on an EMR’s page: completed',
  'bulk_exports.status_url': 'Bulk exports: status',
  'bulk_exports.manifest': 'Bulk exports: manifest',
  'bulk_export_chunks.lines': 'Bulk exports: files',
  start: 'Start of a process or a command',
  rotation: 'Rotation of the master key',
  other: 'Other',
} as const;
export type KeyPurpose = keyof typeof key_purposes;

export function isKeyPurpose(text: string): text is KeyPurpose {
  return Object.hasOwn(key_purposes, text);
}

/** The purpose of a value with this binding: `credentials:<account id>` → credentials. */
export function readPurpose(binding: string): KeyPurpose {
  const [name = ''] = binding.split(':');
  return isKeyPurpose(name) ? name : 'other';
}
