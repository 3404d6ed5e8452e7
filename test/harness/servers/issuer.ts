import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate with its key, as a program would read them from files. */
export type Issued = {
  certificate: string;
  private_key: string;
  /** SHA-256, as 64 hexadecimal digits. */
  fingerprint: string;
};

export type Subject = {
  name: string;
  /** Names of the server. */
  hosts?: readonly string[];
  /** Default: client authentication; `any`: the certificate does not say. */
  use?: 'client' | 'server' | 'any';
  valid_from?: Date;
  valid_to?: Date;
};

export type Issuer = Issued & { issue(subject: Subject): Issued; issueAuthority(name: string): Issuer };

const day_ms = 86_400_000;

/** An authority of its own, with a new key. */
export function createAuthority(name: string, times: Pick<Subject, 'valid_from' | 'valid_to'> = {}): Issuer {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issued = toIssued(key, { ...times, subject: name, issuer: name, by: key.privateKey, authority: true });
  return toIssuer(name, issued, key.privateKey);
}

function toIssuer(name: string, issued: Issued, by: KeyObject): Issuer {
  return {
    ...issued,
    issue: (subject) => {
      const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return toIssued(key, { ...subject, subject: subject.name, issuer: name, by, authority: false });
    },
    issueAuthority: (subject) => {
      const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const below = toIssued(key, { subject, issuer: name, by, authority: true });
      return toIssuer(subject, below, key.privateKey);
    },
  };
}

type Content = Omit<Subject, 'name'> & { subject: string; issuer: string; by: KeyObject; authority: boolean };
type Pair = { publicKey: KeyObject; privateKey: KeyObject };

/** X.509 version 3 (RFC 5280), with ECDSA on P-256. */
function toIssued({ publicKey, privateKey }: Pair, content: Content): Issued {
  const { valid_from = new Date(Date.now() - day_ms), valid_to = new Date(Date.now() + 365 * day_ms) } = content;
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsa,
    distinguishedName(content.issuer),
    sequence(time(valid_from), time(valid_to)),
    distinguishedName(content.subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(...extensions(content))),
  );
  const der = sequence(body, ecdsa, bits(sign('sha256', body, { key: content.by, dsaEncoding: 'der' })));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    fingerprint: createHash('sha256').update(der).digest('hex'),
  };
}

function extensions({ authority, hosts = [], use = 'client' }: Content): Buffer[] {
  const names = hosts.map((host) =>
    /^[\d.]+$/.test(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  );
  return [
    ...(authority ? [extension('2.5.29.19', sequence(der(0x01, Buffer.from([0xff]))))] : []),
    ...(names.length > 0 ? [extension('2.5.29.17', sequence(...names))] : []),
    ...(authority || use === 'any' ? [] : [extension('2.5.29.37', sequence(identifier(uses[use])))]),
  ];
}

const uses = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' } as const;

function extension(id: string, value: Buffer): Buffer {
  return sequence(identifier(id), der(0x04, value));
}

function distinguishedName(name: string): Buffer {
  return sequence(der(0x31, sequence(identifier('2.5.4.3'), der(0x0c, Buffer.from(name)))));
}

/** GeneralizedTime from 2050 on, as the standard demands. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14);
  return date.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : der(0x18, Buffer.from(`${digits}Z`));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function tagged(number: number, content: Buffer): Buffer {
  return der(0xa0 + number, content);
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes);
}

function bits(content: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function identifier(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const encode = (part: number): number[] => {
    const groups = [part & 0x7f];
    for (let more = part >> 7; more > 0; more >>= 7) groups.unshift((more & 0x7f) | 0x80);
    return groups;
  };
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(encode)]));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const bytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

/** ecdsa-with-SHA256 */
const ecdsa = sequence(identifier('1.2.840.10045.4.3.2'));
