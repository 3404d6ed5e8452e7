import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  checkAuthorities,
  checkKeyPair,
  describeCertificate,
  readFingerprint,
  readForwarded,
  toFingerprint,
} from '../../src/platform/security/certificates.ts';
import { test_authority } from '../harness/servers/certificates.ts';
import { createAuthority } from '../harness/servers/issuer.ts';

const authority = createAuthority('Hillside authority');
const client = authority.issue({ name: 'chartwire' });
const in_a_day = new Date(Math.floor(Date.now() / 1000) * 1000 + 86_400_000);
const yesterday = new Date(Date.now() - 86_400_000);

describe('a certificate that the service is to present', () => {
  test('is accepted with its key, and described by subject, issuer, fingerprint and times', () => {
    expect(checkKeyPair(client)).toMatchObject({ certificate: client.certificate, private_key: client.private_key });
    expect(describeCertificate(client.certificate)).toStrictEqual({
      subject: 'CN=chartwire',
      issuer: 'CN=Hillside authority',
      fingerprint: client.fingerprint,
      valid_from: expect.stringMatching(/^\d{4}-.*Z$/),
      expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  test('is accepted with its issuers, with texts around the blocks, and with line ends of Windows', () => {
    const below = authority.issueAuthority('Hillside issuing');
    const issued = below.issue({ name: 'chartwire' });
    const chain = `Bag Attributes\n${issued.certificate}subject=CN=issuing\n${below.certificate}`.replaceAll(
      '\n',
      '\r\n',
    );
    expect(checkKeyPair({ ...issued, certificate: chain })).toMatchObject({
      certificate: `${issued.certificate}${below.certificate}`,
    });
  });

  test('expires with the first certificate of its chain', () => {
    const short = authority.issue({ name: 'short', valid_to: in_a_day });
    expect(checkKeyPair(short)).toMatchObject({ expires_at: in_a_day });
  });

  const other = authority.issue({ name: 'other' });
  test.each([
    [
      'the key of another certificate',
      { ...client, private_key: other.private_key },
      'private_key',
      /^must be the key of the certificate CN=chartwire$/,
    ],
    ['no PEM', { ...client, certificate: 'x' }, 'certificate', /in PEM form/],
    ['a block that is no certificate', { ...client, certificate: client.private_key }, 'certificate', /in PEM form/],
    [
      'a damaged certificate',
      { ...client, certificate: client.certificate.replace(/M/g, 'N') },
      'certificate',
      /in PEM form/,
    ],
    ['no key', { ...client, private_key: client.certificate }, 'private_key', /^must be a private key in PEM form/],
    [
      'an expired certificate',
      authority.issue({ name: 'old', valid_to: yesterday }),
      'certificate',
      /^must be valid, and CN=old expired on \d{4}-\d\d-\d\d$/,
    ],
    [
      'a certificate of tomorrow',
      authority.issue({ name: 'new', valid_from: in_a_day }),
      'certificate',
      /^must be valid, and CN=new is not before/,
    ],
    [
      'a certificate for servers',
      authority.issue({ name: 'server', use: 'server' }),
      'certificate',
      /^must be for client authentication/,
    ],
    [
      'issuers in the wrong order',
      { ...client, certificate: `${client.certificate}${createAuthority('Stranger').certificate}` },
      'certificate',
      /^must be followed by its issuers in order, and CN=Stranger did not issue CN=chartwire$/,
    ],
  ])('is refused: %s', (_, pair, field, rule) => {
    expect(checkKeyPair(pair)).toStrictEqual({ field, rule: expect.stringMatching(rule) });
  });

  test('is refused with a key that has a passphrase, and no message quotes the key', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const encrypted = privateKey
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
      .toString();
    expect(checkKeyPair({ ...client, private_key: encrypted })).toStrictEqual({
      field: 'private_key',
      rule: 'must not have a passphrase: remove it with openssl pkey',
    });
  });

  test('may say nothing about its use', () => {
    expect(checkKeyPair(authority.issue({ name: 'any', use: 'any' }))).toMatchObject({
      certificate: expect.any(String),
    });
  });
});

describe('authorities of a server', () => {
  test('are accepted if each is a valid certificate of an authority', () => {
    expect(checkAuthorities(`${authority.certificate}${test_authority}`)).toStrictEqual({
      certificates: `${authority.certificate}${test_authority}`,
    });
    expect(checkAuthorities(client.certificate)).toStrictEqual({
      rule: 'must be certificates of authorities, and CN=chartwire is none',
    });
    expect(checkAuthorities('x')).toStrictEqual({ rule: expect.stringMatching(/in PEM form/) });
  });
});

describe('a certificate that a proxy forwards', () => {
  const der = client.certificate.replace(/-----.*?-----|\n/g, '');

  test.each([
    ['percent-encoded PEM (nginx)', encodeURIComponent(client.certificate)],
    ['DER as base64 (Caddy, HAProxy)', der],
    ['a byte sequence (RFC 9440)', `:${der}:`],
  ])('is read: %s', (_, header) => {
    const certificate = readForwarded(header);
    expect(certificate && toFingerprint(certificate)).toBe(client.fingerprint);
  });

  test.each([
    ['two values', `${der}, ${der}`],
    ['damaged base64', der.slice(0, 100)],
    ['a bad percent sign', '%E0%A4%A'],
    ['words', 'SUCCESS'],
    ['a text that is too long', 'A'.repeat(50_001)],
  ])('is not read: %s', (_, header) => {
    expect(readForwarded(header)).toBeUndefined();
  });
});

test('a fingerprint is read with colons, in capitals, as openssl prints it, and from a certificate', () => {
  const { fingerprint } = client;
  const colons = fingerprint.toUpperCase().match(/../g)?.join(':') ?? '';
  for (const text of [fingerprint, colons, `sha256 Fingerprint=${colons}`, client.certificate]) {
    expect(readFingerprint(text)).toBe(fingerprint);
  }
  for (const text of ['', 'x', fingerprint.slice(1), `${fingerprint}0`]) expect(readFingerprint(text)).toBeUndefined();
});
