import { Checkbox, Stack, Text } from '@mantine/core';
import { errorAt } from '../../parts/errors.tsx';
import { CertificateFields, PemInput } from '../../parts/forms/Certificate.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { ApiError } from '../../service/api.ts';
import type { EmrApp } from '../../service/types.ts';

/** What TLS connections to the EMR use beyond the defaults. Few EMRs need it, so it is folded unless something is set. */
export function Certificates({ error, app }: { error: ApiError | null; app?: EmrApp }) {
  const { certificate = null, authorities = [] } = app ?? {};
  const failed = ['certificate', 'certificate_key', 'ca_certificates'].some((name) => errorAt(error, name));
  return (
    <details open={Boolean(certificate || authorities.length > 0 || failed)}>
      <summary>Client certificate and private authority</summary>
      <Stack gap="sm" mt="sm">
        {certificate && <CertificateFields of={certificate} />}
        <PemInput
          name="certificate"
          label="Client certificate (optional)"
          description={
            certificate
              ? 'Leave empty to keep the current one'
              : 'In PEM form, followed by the intermediate certificates. Presented to the EMR and its token endpoint only'
          }
          error={error}
        />
        <PemInput
          name="certificate_key"
          label="Private key"
          description="In PEM form, without a passphrase. Stored encrypted, and never shown again"
          error={error}
        />
        {certificate && <Checkbox name="remove_certificate" label="Remove the certificate and its key" />}
        {authorities.map(({ fingerprint, subject, expires_at }) => (
          <Text key={fingerprint} size="sm" className="breakable">
            Authority: {subject}, expires <Timestamp at={expires_at} show="clock" />
          </Text>
        ))}
        <PemInput
          name="ca_certificates"
          label="Private authority (optional)"
          description={
            authorities.length > 0
              ? 'Leave empty to keep the current ones'
              : 'Certificates, in PEM form, of the authority that issued the EMR’s certificate, if it is not a public one'
          }
          error={error}
        />
        {authorities.length > 0 && <Checkbox name="remove_authorities" label="Remove the private authorities" />}
      </Stack>
    </details>
  );
}

/** What was filled in. Fields that are empty stay as they are. */
export function certificatesIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const filled = ['certificate', 'certificate_key', 'ca_certificates'].filter((name) => text(name) !== '');
  return {
    ...(form.get('remove_certificate') !== null && { certificate: null, certificate_key: null }),
    ...(form.get('remove_authorities') !== null && { ca_certificates: null }),
    ...Object.fromEntries(filled.map((name) => [name, text(name)])),
  };
}
