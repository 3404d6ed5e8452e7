import { type ApiError, apiError } from '../../catalog/errors.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';
import { type EndpointPins, isSameHost, matchHost, pinnedUrls, same_host } from '../../emr/endpointPins.ts';
import type { Tx } from '../../platform/db/database.ts';
import { checkAuthorities, checkKeyPair, describeCertificate } from '../../platform/security/certificates.ts';
import type { Outbound } from '../../platform/security/outbound.ts';
import type { TlsIdentity } from '../../platform/security/tlsIdentity.ts';
import type { Context } from '../context.ts';

/** What TLS connections of an EMR app use beyond the defaults, in PEM form. */
export type AppCertificates = {
  /** Presented to the EMR, with its chain; null: none. */
  certificate: string | null;
  /** Its private key. */
  certificate_key: string | null;
  /** Authorities from which the EMR's certificate may come, besides the public ones. */
  ca_certificates: string | null;
};

export const no_certificates: AppCertificates = { certificate: null, certificate_key: null, ca_certificates: null };

/** As it is stored. */
export type SealedCertificates = Omit<AppCertificates, 'certificate_key'> & { certificate_key_sealed: Buffer | null };

/** Fields that are not sent stay as they are; null removes one. A certificate is removed with its key. */
export type SentCertificates = { [Name in keyof AppCertificates]?: AppCertificates[Name] | undefined };

/** Validates what an operator entered and throws on the first error. Returns it as it is stored. */
export function checkCertificates(stored: AppCertificates, sent: SentCertificates): AppCertificates {
  const { certificate = stored.certificate } = sent;
  const { certificate_key = certificate === null ? null : stored.certificate_key } = sent;
  // Only what was sent: other settings of an app can be changed when its certificate has expired.
  const checked = {
    ca_certificates:
      sent.ca_certificates === undefined ? stored.ca_certificates : readAuthorities(sent.ca_certificates),
  };
  if (sent.certificate === undefined && sent.certificate_key === undefined) {
    return { ...checked, certificate: stored.certificate, certificate_key: stored.certificate_key };
  }
  if (certificate === null && certificate_key === null) return { ...checked, certificate, certificate_key };
  if (certificate === null) throw invalid('certificate', 'must be sent with its key');
  if (certificate_key === null) throw invalid('certificate_key', 'must be sent with the certificate');
  const pair = checkKeyPair({ certificate, private_key: certificate_key });
  if ('rule' in pair) throw invalid(pair.field === 'private_key' ? 'certificate_key' : 'certificate', pair.rule);
  return { ...checked, certificate: pair.certificate, certificate_key: pair.private_key };
}

function readAuthorities(pem: string | null): string | null {
  if (pem === null) return null;
  const authorities = checkAuthorities(pem);
  if ('rule' in authorities) throw invalid('ca_certificates', authorities.rule);
  return authorities.certificates;
}

function invalid(field: keyof AppCertificates, rule: string): ApiError {
  return apiError('invalid_field', { rule: `${field} ${rule}` }, { field });
}

/** The audit detail of a change. Fingerprints, which are public. */
export function describeCertificateChange(before: AppCertificates | undefined, after: AppCertificates | undefined) {
  const changes = (['certificate', 'ca_certificates'] as const).flatMap((name) => {
    const [old, changed] = [before?.[name] ?? null, after?.[name] ?? null];
    return old === changed ? [] : [[name, { old: toFingerprint(old), new: toFingerprint(changed) }] as const];
  });
  return Object.fromEntries(changes);
}

function toFingerprint(pem: string | null): string | null {
  return pem && describeCertificate(pem).fingerprint;
}

type Owner = { id: string; client_id: string };

/** The columns of an app's certificates. */
export async function sealCertificates(
  { vault }: Pick<Context, 'vault'>,
  tx: Tx,
  { id, client_id, certificate, certificate_key, ca_certificates }: Owner & AppCertificates,
): Promise<SealedCertificates & { certificate_expires_at: string | null }> {
  const owner = { client_id, owner_id: client_id };
  return {
    certificate,
    ca_certificates,
    certificate_expires_at: certificate && describeCertificate(certificate).expires_at,
    certificate_key_sealed:
      certificate_key === null ? null : await vault.seal(tx, owner, toBinding(id), certificate_key),
  };
}

export async function unsealCertificates(
  { vault }: Pick<Context, 'vault'>,
  tx: Tx,
  id: string,
  { certificate, ca_certificates, certificate_key_sealed: sealed }: SealedCertificates,
): Promise<AppCertificates> {
  const certificate_key = sealed && (await vault.unseal(tx, sealed, toBinding(id)));
  return { certificate, certificate_key, ca_certificates };
}

/** The same outside of a transaction, which is opened only if the data key is not in memory. */
export async function readCertificates(
  { db, vault }: Pick<Context, 'db' | 'vault'>,
  { id, client_id }: Owner,
  { certificate, ca_certificates, certificate_key_sealed: sealed }: SealedCertificates,
): Promise<AppCertificates> {
  const certificate_key =
    sealed &&
    (vault.unsealInMemory(sealed, toBinding(id)) ??
      (await db.tenant(client_id, (tx) => vault.unseal(tx, sealed, toBinding(id)))));
  return { certificate, certificate_key, ca_certificates };
}

function toBinding(id: string): string {
  return `emr_app_certificate:${id}`;
}

/**
 * The client of an EMR for requests of an app: it presents the app's certificate and trusts its authorities at the EMR's
 * own origin and at the token endpoint that the app allows, and nowhere else, whatever a server names or redirects to.
 */
export function withCertificates(
  outbound: Outbound,
  address: string,
  app: { id: string } & EndpointPins & AppCertificates,
): Outbound {
  const { certificate, certificate_key, ca_certificates } = app;
  if ((certificate === null && ca_certificates === null) || !matchHost(app.hosts, address)) return outbound;
  const identity: TlsIdentity = {
    owner: `emr_app ${app.id}`,
    certificate: certificate ?? undefined,
    private_key: certificate_key ?? undefined,
    ca_certificates: ca_certificates ?? undefined,
  };
  const isOwn = createOriginCheck(address, app);
  return {
    ...outbound,
    fetch: (to, request) => {
      const url = parseUrl(String(to));
      return outbound.fetch(to, url && isOwn(url) ? { ...request, identity } : request);
    },
  };
}

/** Whether a URL is one of the EMR itself, or on the origin of its token endpoint, as the app names it. */
function createOriginCheck(address: string, { token_endpoint, tenant_path }: EndpointPins): (url: URL) => boolean {
  const base = new URL(address);
  const pinned = token_endpoint === same_host ? [] : pinnedUrls(token_endpoint, address, tenant_path);
  const origins = [base, ...pinned.map((each) => new URL(each))].map(({ origin }) => origin);
  return (url) =>
    url.protocol === 'https:' &&
    (origins.includes(url.origin) || (token_endpoint === same_host && isSameHost(base, url)));
}
