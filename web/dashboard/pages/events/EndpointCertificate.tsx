import { Group, Text } from '@mantine/core';
import { CertificateFields, PemInput } from '../../parts/forms/Certificate.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { Section } from '../../parts/layout.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Webhook } from '../../service/types.ts';

/** The certificate that the service presents to the receiver, for receivers that require one. */
export function EndpointCertificate({ webhook: { id, url, certificate } }: { webhook: Webhook }) {
  const { may } = useSession();
  const may_change = may('operator') && url.startsWith('https:');
  if (!certificate) {
    if (!may_change) return null;
    return (
      <Group gap="sm">
        <Text size="sm" c="dimmed">
          No client certificate. Add one if the receiver requires it in the TLS handshake.
        </Text>
        <SetCertificate id={id} replaces={false} />
      </Group>
    );
  }
  return (
    <Section title="Client certificate" order={3}>
      <CertificateFields of={certificate} />
      {may_change && (
        <Group gap="xs" mt="sm">
          <SetCertificate id={id} replaces />
          <RemoveCertificate id={id} />
        </Group>
      )}
    </Section>
  );
}

function SetCertificate({ id, replaces }: { id: string; replaces: boolean }) {
  const { client_id } = useClient();
  const action = replaces ? 'Replace certificate' : 'Add certificate';
  return (
    <FormDialog
      opener={action}
      title={action}
      submit="Save"
      success="The certificate was saved."
      action={(form) => {
        const body = { certificate: String(form.get('certificate')), private_key: String(form.get('private_key')) };
        return call('webhooks.set-certificate', { client_id, id }, { body });
      }}
    >
      {(error) => (
        <>
          <PemInput
            name="certificate"
            label="Certificate"
            description="In PEM form, followed by the intermediate certificates"
            required
            error={error}
          />
          <PemInput
            name="private_key"
            label="Private key"
            description="In PEM form, without a passphrase. Stored encrypted, and never shown again"
            required
            error={error}
          />
          <Text size="sm">The next deliveries use it. It is presented to the host of this endpoint only.</Text>
        </>
      )}
    </FormDialog>
  );
}

function RemoveCertificate({ id }: { id: string }) {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Remove certificate"
      title="Remove certificate"
      submit="Remove"
      success="The certificate was removed."
      danger
      action={() => call('webhooks.remove-certificate', { client_id, id })}
    >
      <Text size="sm">Deletes the certificate and its key. A receiver that requires one refuses deliveries then.</Text>
    </FormDialog>
  );
}
