import { Textarea } from '@mantine/core';
import type { ApiError } from '../../service/api.ts';
import { errorAt } from '../errors.tsx';
import { Timestamp } from '../Timestamp.tsx';
import { Fields } from '../values.tsx';

type Certificate = { subject: string; issuer: string; fingerprint: string; expires_at: string };

export function CertificateFields({ of: { subject, issuer, fingerprint, expires_at } }: { of: Certificate }) {
  return (
    <Fields
      of={{
        Subject: <span className="breakable">{subject}</span>,
        Issuer: <span className="breakable">{issuer}</span>,
        Expires: <Timestamp at={expires_at} show="clock" />,
        'SHA-256': <span className="breakable">{fingerprint}</span>,
      }}
    />
  );
}

/** The inputs for a certificate and its key, or for authorities. A file's content is pasted. */
export function PemInput({
  name,
  label,
  description,
  required = false,
  error,
}: {
  name: string;
  label: string;
  description: string;
  required?: boolean;
  error: ApiError | null;
}) {
  return (
    <Textarea
      name={name}
      label={label}
      description={description}
      required={required}
      autosize
      minRows={2}
      maxRows={6}
      autoComplete="off"
      spellCheck={false}
      error={errorAt(error, name)}
    />
  );
}
