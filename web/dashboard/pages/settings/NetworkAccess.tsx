import { Group, Paper, Text, Textarea, Title } from '@mantine/core';
import { errorAt } from '../../parts/errors.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { DocsLink } from '../../parts/layout.tsx';
import { Fields } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useSession } from '../../service/session.tsx';
import type { ClientSettings } from '../../service/types.ts';

/** Where requests with the client's credentials may come from. Neither Link nor this dashboard is limited by it. */
export function NetworkAccess({ client }: { client: ClientSettings }) {
  const { may } = useSession();
  const { allowed_networks, certificate_fingerprints } = client;
  return (
    <Paper withBorder p="md" component="section" aria-label="Network access">
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h4">
          Network access
        </Title>
        {may('owner') && <ChangeAccess client={client} />}
      </Group>
      <Text size="sm" c="dimmed" mb="sm">
        Where requests with this client’s secrets may come from. People who open Link are not limited.{' '}
        <DocsLink path="/networks">Guide: Networks</DocsLink>
      </Text>
      <Fields
        of={{
          Networks: allowed_networks.length > 0 ? <Lines of={allowed_networks} /> : 'Anywhere',
          Certificates: certificate_fingerprints.length > 0 ? <Lines of={certificate_fingerprints} /> : 'None required',
        }}
      />
    </Paper>
  );
}

function Lines({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((each) => (
        <div key={each} className="breakable">
          {each}
        </div>
      ))}
    </>
  );
}

function ChangeAccess({ client }: { client: ClientSettings }) {
  return (
    <FormDialog
      opener="Change network access"
      title="Network access"
      submit="Save"
      success="Network access was saved."
      action={(form) =>
        call(
          'clients.update',
          { client_id: client.client_id },
          {
            body: {
              allowed_networks: splitLines(form, 'allowed_networks'),
              certificate_fingerprints: splitCertificates(form),
            },
          },
        )
      }
    >
      {(error) => (
        <>
          <Textarea
            name="allowed_networks"
            label="Allowed networks"
            description="Addresses or networks, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32. One per line. Leave empty to allow all. Requests from elsewhere are refused at once"
            defaultValue={client.allowed_networks.join('\n')}
            autosize
            minRows={3}
            error={errorAt(error, 'allowed_networks')}
            data-autofocus
          />
          <Textarea
            name="certificate_fingerprints"
            label="Client certificates"
            description="SHA-256 fingerprints, one per line, or certificates in PEM form. Requests must be sent with one of them, in addition to a secret. Leave empty to require none"
            defaultValue={client.certificate_fingerprints.join('\n')}
            autosize
            minRows={2}
            maxRows={10}
            error={errorAt(error, 'certificate_fingerprints')}
          />
        </>
      )}
    </FormDialog>
  );
}

function splitLines(form: FormData, name: string): string[] {
  return trimAll(String(form.get(name) ?? '').split('\n'));
}

/** A certificate has several lines. */
function splitCertificates(form: FormData): string[] {
  const text = String(form.get('certificate_fingerprints') ?? '');
  const certificates = text.match(pem) ?? [];
  return trimAll([...text.replaceAll(pem, '\n').split('\n'), ...certificates]);
}

const pem = /-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----/g;

function trimAll(texts: readonly string[]): string[] {
  return texts.map((each) => each.trim()).filter((each) => each !== '');
}
