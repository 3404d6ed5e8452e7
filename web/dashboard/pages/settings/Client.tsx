import { Button, ColorInput, Group, Paper, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useLocation } from 'wouter';
import { ErrorAlert, errorAt } from '../../parts/errors.tsx';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { Erase } from '../../parts/forms/Erase.tsx';
import { LogoField } from '../../parts/forms/LogoField.tsx';
import { BackLink } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Copyable } from '../../parts/values.tsx';
import { type Body, call } from '../../service/api.ts';
import { useAction, useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { ClientSettings } from '../../service/types.ts';
import { LegalHolds, Periods } from './ClientRetention.tsx';
import { Mode } from './Clients.tsx';
import { EmrApps } from './EmrApps.tsx';
import { LinkPreview } from './LinkPreview.tsx';
import { NetworkAccess } from './NetworkAccess.tsx';
import { Secrets } from './Secrets.tsx';

export function ClientPage({ client_id }: { client_id: string }) {
  const settings = useQuery('clients.get', { client_id });
  const { may } = useSession();
  const [, navigate] = useLocation();
  return (
    <>
      <BackLink href="/clients">All clients</BackLink>
      <QueryResult query={settings}>
        {({ client }) => (
          <Stack>
            <Group>
              <Title order={2} size="h3">
                {client.name}
              </Title>
              <Mode of={client.mode} />
              {may('owner') && (
                <ActionMenu label={`More actions for ${client.name}`}>
                  <Erase
                    noun="client"
                    name={client.name}
                    erase={(body) => call('clients.erase', { client_id }, { body })}
                    onErased={() => navigate('/clients')}
                  />
                </ActionMenu>
              )}
            </Group>
            <Copyable label="client ID" value={client.client_id} />
            <Secrets client={client} />
            <NetworkAccess client={client} />
            {/* Keyed, so that the form starts over from the saved values. */}
            <LinkSettings key={JSON.stringify({ ...client, keys: 0 })} client={client} />
            <EmrApps client_id={client_id} />
            {may('read_only') && <Periods client_id={client_id} />}
            {may('read_only') && <LegalHolds client_id={client_id} />}
          </Stack>
        )}
      </QueryResult>
    </>
  );
}

function LinkSettings({ client }: { client: ClientSettings }) {
  const { may } = useSession();
  const { name, logo, colour } = client;
  const form = useForm({
    initialValues: {
      ...{ name, logo, colour: colour ?? '' },
      frame_origins: client.frame_origins.join('\n'),
      callback_urls: client.callback_urls.join('\n'),
    },
  });
  const save = useAction((body: Body<'clients.update'>) =>
    call('clients.update', { client_id: client.client_id }, { body }),
  );
  const read_only = !may('owner');
  const lines = (name: 'frame_origins' | 'callback_urls', label: string, description: string) => (
    <Textarea
      {...form.getInputProps(name)}
      label={label}
      description={description}
      autosize
      minRows={2}
      readOnly={read_only}
      error={errorAt(save.error, name)}
    />
  );
  return (
    <Paper
      withBorder
      p="md"
      component="form"
      onSubmit={form.onSubmit((values) =>
        save.mutate({
          ...values,
          callback_urls: splitLines(values.callback_urls),
          frame_origins: splitLines(values.frame_origins),
          colour: values.colour || null,
        }),
      )}
    >
      <div className="link-settings">
        <Stack>
          <Title order={3} size="h4">
            Link
          </Title>
          <TextInput
            {...form.getInputProps('name')}
            label="Name"
            description="Shown in Link"
            required
            maxLength={100}
            readOnly={read_only}
            error={errorAt(save.error, 'name')}
          />
          {lines('frame_origins', 'Allowed origins', 'Pages that may embed Link. One origin per line')}
          {lines('callback_urls', 'Redirect URLs', 'Where the hosted page may redirect to. One URL per line')}
          <ColorInput
            {...form.getInputProps('colour')}
            label="Color"
            description="Button color in Link"
            readOnly={read_only}
            error={errorAt(save.error, 'colour')}
            eyeDropperButtonProps={{ 'aria-label': 'Pick a color from the screen' }}
          />
          <LogoField
            value={form.values.logo}
            onChange={(logo) => form.setFieldValue('logo', logo)}
            error={errorAt(save.error, 'logo')}
            read_only={read_only}
          />
          {save.error && <ErrorAlert error={save.error} />}
          {!read_only && (
            <Group>
              <Button type="submit" loading={save.isPending}>
                Save
              </Button>
              {save.isSuccess && (
                <Text size="sm" role="status">
                  Saved
                </Text>
              )}
            </Group>
          )}
        </Stack>
        <LinkPreview name={form.values.name} color={form.values.colour} logo={form.values.logo} />
      </div>
    </Paper>
  );
}

function splitLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
