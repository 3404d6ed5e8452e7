import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

type Options = {
  challenge: string;
  origin: string;
  rp_id: string;
  /** Without a PIN or biometrics if false. */
  verified?: boolean;
};

/** An authenticator with one passkey, in software, that signs whatever a test asks for. */
export type TestAuthenticator = {
  register(options: Options & { user_handle: string }): Record<string, unknown>;
  assert(options: Options & { counter?: number }): Record<string, unknown>;
};

export function newAuthenticator(): TestAuthenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const credential_id = randomBytes(32);
  let user_handle = '';
  let signatures = 0;
  const id = credential_id.toString('base64url');
  return {
    register: (options) => {
      user_handle = options.user_handle;
      // ES256 on P-256, as COSE writes it.
      const cose_key = new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
        [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
      ]);
      const credential = Buffer.concat([
        Buffer.alloc(16),
        Buffer.from([0, credential_id.length]),
        credential_id,
        isoCBOR.encode(cose_key),
      ]);
      const attestation = isoCBOR.encode(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', new Uint8Array(Buffer.concat([authenticatorData(options, 0, 0x40), credential]))],
        ]) as Parameters<typeof isoCBOR.encode>[0],
      );
      return {
        id,
        client_data: clientData('webauthn.create', options).toString('base64url'),
        attestation: Buffer.from(attestation).toString('base64url'),
        transports: ['internal'],
      };
    },
    assert: (options) => {
      signatures += 1;
      const client_data = clientData('webauthn.get', options);
      const data = authenticatorData(options, options.counter ?? signatures, 0);
      const signed = Buffer.concat([data, createHash('sha256').update(client_data).digest()]);
      return {
        id,
        client_data: client_data.toString('base64url'),
        authenticator_data: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
        user_handle,
      };
    },
  };
}

function clientData(type: string, { challenge, origin }: Options): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

/** Hash of the relying party, flags (user present 1, verified 4, and more), number of signatures. */
function authenticatorData({ rp_id, verified = true }: Options, counter: number, more_flags: number): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const flags = Buffer.from([0x01 | (verified ? 0x04 : 0) | more_flags]);
  return Buffer.concat([createHash('sha256').update(rp_id).digest(), flags, count]);
}
