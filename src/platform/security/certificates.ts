import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Static } from 'typebox';
import { type certificate_info, type key_pair, pem_length_max } from '../../model/certificate.ts';

/** None of it is secret. */
export type CertificateInfo = Static<typeof certificate_info>;

/** Describes the first certificate of a PEM text that was checked before. */
export function describeCertificate(pem: string): CertificateInfo {
  const [first] = describeCertificates(pem);
  if (!first) throw new Error('The text contains no certificate.');
  return first;
}

export function describeCertificates(pem: string): CertificateInfo[] {
  return (readCertificates(pem) ?? []).map((certificate) => ({
    subject: formatName(certificate.subject),
    issuer: formatName(certificate.issuer),
    fingerprint: toFingerprint(certificate),
    valid_from: validFrom(certificate).toISOString(),
    expires_at: validTo(certificate).toISOString(),
  }));
}

/** A certificate and its key, as they were sent. */
export type KeyPair = Static<typeof key_pair>;

/** What is wrong with a field: `rule` completes a sentence that starts with its name. It quotes nothing of the key. */
export type Refused<Field extends string> = { field: Field; rule: string };

/**
 * Checks a certificate that the service is to present, and its private key. Returns both in one form, and until when the
 * certificate and the ones that it was issued by are valid.
 */
export function checkKeyPair({
  certificate,
  private_key,
}: KeyPair): (KeyPair & { expires_at: Date }) | Refused<keyof KeyPair> {
  const chain = readCertificates(certificate);
  const [own] = chain ?? [];
  if (!chain || !own) {
    return { field: 'certificate', rule: 'must be a certificate in PEM form (-----BEGIN CERTIFICATE-----)' };
  }
  const refused = refuseChain(chain) ?? refuseUse(own);
  if (refused !== undefined) return { field: 'certificate', rule: refused };
  const key = readPrivateKey(private_key);
  if ('refused' in key) return { field: 'private_key', rule: key.refused };
  if (!own.checkPrivateKey(key.key)) {
    return { field: 'private_key', rule: `must be the key of the certificate ${formatName(own.subject)}` };
  }
  const checked = {
    certificate: joinPem(chain),
    private_key: key.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  const unusable = refuseContext(checked);
  if (unusable !== undefined) return { field: 'certificate', rule: unusable };
  return { ...checked, expires_at: new Date(Math.min(...chain.map((each) => validTo(each).getTime()))) };
}

/** Checks certificates of authorities that a server's certificate may come from. */
export function checkAuthorities(pem: string): { certificates: string } | { rule: string } {
  const authorities = readCertificates(pem);
  if (!authorities) return { rule: 'must be certificates in PEM form (-----BEGIN CERTIFICATE-----)' };
  const other = authorities.find(({ ca }) => !ca);
  if (other) return { rule: `must be certificates of authorities, and ${formatName(other.subject)} is none` };
  const expired = authorities.find((each) => validTo(each).getTime() <= Date.now());
  if (expired)
    return { rule: `contains ${formatName(expired.subject)}, which expired on ${formatDay(validTo(expired))}` };
  return { certificates: joinPem(authorities) };
}

/**
 * Reads the certificate that a proxy forwards in a header: PEM, percent-encoded, or DER as base64, with or without the
 * colons of a structured header (RFC 9440). Undefined if it is something else.
 */
export function readForwarded(header: string): X509Certificate | undefined {
  // A list would contain what the caller sent, before or after what the proxy added.
  if (header.length > pem_length_max || header.includes(',')) return undefined;
  const text = percentDecoded(header.trim().replace(/^:(.*):$/, '$1'));
  if (text === undefined) return undefined;
  if (text.includes('-----BEGIN')) return readCertificates(text)?.[0];
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? parse(Buffer.from(text, 'base64')) : undefined;
}

/** Node 20 has these times as texts only. */
export function validFrom({ validFrom: text }: X509Certificate): Date {
  return new Date(text);
}

export function validTo({ validTo: text }: X509Certificate): Date {
  return new Date(text);
}

/** SHA-256 of a certificate, as 64 hexadecimal digits. */
export function toFingerprint({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase();
}

/** A fingerprint as people copy it, with or without colons, or a certificate in PEM form, whose fingerprint it is. */
export function readFingerprint(text: string): string | undefined {
  const [certificate] = (text.includes('-----BEGIN') ? readCertificates(text) : undefined) ?? [];
  if (certificate) return toFingerprint(certificate);
  const digits = text
    .replace(/^\s*sha-?256(?:\s+fingerprint)?\s*[:=]/i, '')
    .replaceAll(/[:\s]/g, '')
    .toLowerCase();
  return /^[0-9a-f]{64}$/.test(digits) ? digits : undefined;
}

/** Undefined if the text contains anything else, or a certificate that cannot be read. */
function readCertificates(pem: string): X509Certificate[] | undefined {
  if (pem.length > pem_length_max) return undefined;
  const blocks = pem.match(/-----BEGIN ([A-Z ]+)-----[^-]*-----END \1-----/g) ?? [];
  const certificates = blocks.map((block) => (block.startsWith(begin) ? parse(block) : undefined));
  const complete = certificates.every((each) => each !== undefined);
  return complete && certificates.length > 0 ? certificates : undefined;
}

const begin = '-----BEGIN CERTIFICATE-----';

function parse(encoded: string | Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(encoded);
  } catch {
    return undefined;
  }
}

function refuseChain(chain: readonly X509Certificate[]): string | undefined {
  for (const [at, each] of chain.entries()) {
    const issuer = chain[at + 1];
    if (issuer && !each.checkIssued(issuer)) {
      return `must be followed by its issuers in order, and ${formatName(issuer.subject)} did not issue ${formatName(each.subject)}`;
    }
    const now = Date.now();
    if (validTo(each).getTime() <= now) {
      return `must be valid, and ${formatName(each.subject)} expired on ${formatDay(validTo(each))}`;
    }
    if (validFrom(each).getTime() > now) {
      return `must be valid, and ${formatName(each.subject)} is not before ${formatDay(validFrom(each))}`;
    }
  }
  return undefined;
}

/** For client authentication, or any use. */
const client_uses = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0'];

/** A certificate without a list of uses may be used for everything. */
function refuseUse({ keyUsage: uses }: X509Certificate): string | undefined {
  // Node's types say that there always is one.
  const listed = uses as readonly string[] | undefined;
  if (listed === undefined || listed.some((use) => client_uses.includes(use))) return undefined;
  return 'must be for client authentication, and this one is for other uses only';
}

function readPrivateKey(pem: string): { key: KeyObject } | { refused: string } {
  if (/ENCRYPTED/.test(pem)) return { refused: 'must not have a passphrase: remove it with openssl pkey' };
  try {
    return { key: createPrivateKey({ key: pem, format: 'pem' }) };
  } catch {
    // The error may quote the key.
    return { refused: 'must be a private key in PEM form (-----BEGIN PRIVATE KEY-----)' };
  }
}

/** OpenSSL refuses keys and signatures that are too weak. */
function refuseContext({ certificate, private_key }: KeyPair): string | undefined {
  try {
    createSecureContext({ cert: certificate, key: private_key });
    return undefined;
  } catch (error) {
    const { code = 'unknown' } = error as { code?: string };
    return `cannot be used for TLS (${code})`;
  }
}

function joinPem(certificates: readonly X509Certificate[]): string {
  return certificates.map((each) => `${each.toString().trim()}\n`).join('');
}

/** `CN=client, O=Hillside`: Node has one part per line. */
function formatName(name: string | undefined): string {
  return (
    (name ?? '')
      .split('\n')
      .filter((part) => part !== '')
      .join(', ')
      .slice(0, 300) || 'a certificate without a name'
  );
}

function formatDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
