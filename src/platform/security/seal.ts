import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** A sealed value cannot be decrypted. The message never contains a secret, so it may be logged. */
export class SealFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'SealFailure';
  }
}

/**
 * Encrypts bytes with AES-256-GCM: format (1 byte), nonce (12), tag (16), ciphertext. The binding names the place of the
 * value ('accounts.credentials:<id>'). It is authenticated but not stored, so a value copied to another row or column
 * cannot be decrypted there. Nonces are random: safe to about 2^32 values per key, and each account has its own key.
 */
export function sealWith(key: Buffer, plain: Buffer, binding: string): Buffer {
  const nonce = randomBytes(nonce_bytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tag_bytes });
  cipher.setAAD(authenticated(binding));
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(format), nonce, cipher.getAuthTag(), ciphertext]);
}

/** Decrypts what `sealWith` sealed with the same key and binding; anything else is a SealFailure. */
export function unsealWith(key: Buffer, sealed: Buffer, binding: string): Buffer {
  if (sealed.length < header_bytes || sealed[0] !== format) {
    throw new SealFailure('A sealed value has a format that this version does not support.');
  }
  const nonce = sealed.subarray(1, 1 + nonce_bytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tag_bytes });
  decipher.setAAD(authenticated(binding));
  decipher.setAuthTag(sealed.subarray(1 + nonce_bytes, header_bytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(header_bytes)), decipher.final()]);
  } catch (cause) {
    throw new SealFailure('A sealed value could not be decrypted: it was changed, moved or sealed with another key.', {
      cause,
    });
  }
}

const format = 1;
const nonce_bytes = 12;
const tag_bytes = 16;
const header_bytes = 1 + nonce_bytes + tag_bytes;

/** The format byte is authenticated too, so that a later format cannot be presented as this one. */
function authenticated(binding: string): Buffer {
  return Buffer.concat([Buffer.of(format), Buffer.from(binding, 'utf8')]);
}
