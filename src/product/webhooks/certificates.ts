import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import { checkKeyPair, type KeyPair } from '../../platform/security/certificates.ts';
import type { TlsIdentity } from '../../platform/security/tlsIdentity.ts';
import type { Vault } from '../../platform/security/vault.ts';
import type { Context } from '../context.ts';
import { type CertificateColumns, no_certificate, setCertificate } from './endpoints.ts';

/** What is stored of an endpoint's certificate. */
export type StoredCertificate = Pick<CertificateColumns, 'certificate' | 'certificate_key_sealed'>;

/** Checks and stores the certificate that the service presents to an endpoint's receiver. Replaces an earlier one. */
export async function saveCertificate(
  { vault }: Pick<Context, 'vault'>,
  tx: Tx,
  { id, url, client_id }: { id: string; url: string; client_id: string },
  pair: KeyPair,
): Promise<void> {
  if (!url.startsWith('https:')) {
    throw apiError('invalid_field', { rule: 'certificate can be used with https only' }, { field: 'certificate' });
  }
  const checked = checkKeyPair(pair);
  if ('rule' in checked) {
    throw apiError('invalid_field', { rule: `${checked.field} ${checked.rule}` }, { field: checked.field });
  }
  const { certificate, private_key, expires_at } = checked;
  const owner = { client_id, owner_id: client_id };
  await setCertificate(tx, id, {
    ...{ certificate, certificate_expires_at: expires_at },
    certificate_key_sealed: await vault.seal(tx, owner, toBinding(id), private_key),
  });
}

export async function removeCertificate(tx: Tx, id: string): Promise<void> {
  await setCertificate(tx, id, no_certificate);
}

/** What connections to an endpoint present. Undefined: nothing. */
export async function openIdentity(
  vault: Vault,
  tx: Tx,
  endpoint_id: string,
  { certificate, certificate_key_sealed: sealed }: StoredCertificate,
): Promise<TlsIdentity | undefined> {
  if (certificate === null || sealed === null) return undefined;
  const private_key = await vault.unseal(tx, sealed, toBinding(endpoint_id));
  return { owner: `webhook ${endpoint_id}`, certificate, private_key };
}

function toBinding(id: string): string {
  return `webhook_certificate:${id}`;
}
