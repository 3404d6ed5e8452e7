import { Type } from 'typebox';
import { date_time, secret } from './fields.ts';

/** The longest chain in use has four certificates of 2 KB. */
export const pem_length_max = 50_000;

/** A certificate, with its chain, and its private key, in PEM form. */
export const key_pair = Type.Object({
  certificate: secret({ minLength: 1, maxLength: pem_length_max }),
  private_key: secret({ minLength: 1, maxLength: pem_length_max }),
});

/** A certificate as it is shown to people. None of it is secret. */
export const certificate_info = Type.Object({
  subject: Type.String(),
  issuer: Type.String(),
  /** SHA-256, as 64 hexadecimal digits. */
  fingerprint: Type.String(),
  valid_from: date_time,
  expires_at: date_time,
});
