import { Button, ColorInput, Group, Paper, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { ActionMenu } from '../../parts/ActionMenu.tsx';
import { Erase } from '../../parts/Erase.tsx';
import { ErrorAlert, errorAt } from '../../parts/errors.tsx';
import { LogoField } from '../../parts/LogoField.tsx';
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
  const [name, setName] = useState(client.name);
  const [logo, setLogo] = useState(client.logo);
  const [color, setColor] = useState(client.colour ?? '');
  const save = useAction((body: Body<'clients.update'>) =>
    call('clients.update', { client_id: client.client_id }, { body }),
  );
  const read_only = !may('owner');
  const lines = (name: 'frame_origins' | 'callback_urls', label: string, description: string) => (
    <Textarea
      name={name}
      label={label}
      description={description}
      defaultValue={client[name].join('\n')}
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
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        save.mutate({
          name: String(form.get('name')),
          callback_urls: splitLines(form.get('callback_urls')),
          frame_origins: splitLines(form.get('frame_origins')),
          colour: color || null,
          logo,
        });
      }}
    >
      <div className="link-settings">
        <Stack>
          <Title order={3} size="h4">
            Link
          </Title>
          <TextInput
            name="name"
            label="Name"
            description="Shown in Link"
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            required
            maxLength={100}
            readOnly={read_only}
            error={errorAt(save.error, 'name')}
          />
          {lines('frame_origins', 'Allowed origins', 'Pages that may embed Link. One origin per line')}
          {lines('callback_urls', 'Redirect URLs', 'Where the hosted page may redirect to. One URL per line')}
          <ColorInput
            label="Color"
            description="Button color in Link"
            value={color}
            onChange={setColor}
            readOnly={read_only}
            error={errorAt(save.error, 'colour')}
            eyeDropperButtonProps={{ 'aria-label': 'Pick a color from the screen' }}
          />
          <LogoField value={logo} onChange={setLogo} error={errorAt(save.error, 'logo')} read_only={read_only} />
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
        <LinkPreview name={name} color={color} logo={logo} />
      </div>
    </Paper>
  );
}

function splitLines(text: FormDataEntryValue | null): string[] {
  return String(text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
