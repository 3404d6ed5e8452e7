import {
  Anchor,
  Button,
  ColorInput,
  FileInput,
  Group,
  Image,
  Paper,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { ClientChanges, ClientSettings } from '../../../../src/model/dashboard/settings.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Failure } from '../../parts/Failure.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAct, useAnswer } from '../../service/useService.ts';
import { Mode } from './Clients.tsx';
import { Keys } from './Keys.tsx';

/** Everything about one application. */
export function Client({ client_id }: { client_id: string }) {
  const settings = useAnswer<{ client: ClientSettings }>(`clients/${client_id}`);
  return (
    <>
      <Anchor component={Link} href="/clients" size="sm">
        All clients
      </Anchor>
      <Answer to={settings}>
        {({ client }) => (
          <Stack mt="sm">
            <Group>
              <Title order={2} size="h3">
                {client.name}
              </Title>
              <Mode of={client.mode} />
            </Group>
            <Copyable label="client id" value={client.client_id} />
            <Keys client={client} />
            {/* Keyed: what was saved is what the form begins with. */}
            <Form key={JSON.stringify({ ...client, keys: 0 })} client={client} />
          </Stack>
        )}
      </Answer>
    </>
  );
}

function Form({ client }: { client: ClientSettings }) {
  const { may } = useSession();
  const [logo, setLogo] = useState(client.logo);
  const [colour, setColour] = useState(client.colour ?? '');
  const save = useAct<ClientChanges>((body) => ask(`clients/${client.client_id}`, { method: 'PATCH', body }));
  const fault = (field: string) => (save.error?.field === field ? save.error.message : undefined);
  const fixed = !may('owner');
  return (
    <Paper
      withBorder
      p="md"
      component="form"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget);
        save.mutate({
          name: String(typed.get('name')),
          callback_urls: linesOf(typed.get('callback_urls')),
          frame_origins: linesOf(typed.get('frame_origins')),
          colour: colour || null,
          logo,
        });
      }}
    >
      <Stack>
        <Title order={3} size="h4">
          Link
        </Title>
        <TextInput
          name="name"
          label="Name"
          description="People see it in Link."
          defaultValue={client.name}
          required
          maxLength={100}
          readOnly={fixed}
          error={fault('name')}
        />
        <Textarea
          name="frame_origins"
          label="Pages that may show Link"
          description="One origin per line, such as https://app.example.org."
          defaultValue={client.frame_origins.join('\n')}
          autosize
          minRows={2}
          readOnly={fixed}
          error={fault('frame_origins')}
        />
        <Textarea
          name="callback_urls"
          label="Return addresses of the hosted page"
          description="One address per line. A link returns to one of these and to no other."
          defaultValue={client.callback_urls.join('\n')}
          autosize
          minRows={2}
          readOnly={fixed}
          error={fault('callback_urls')}
        />
        <ColorInput
          label="Colour"
          description="Of the buttons in Link."
          value={colour}
          onChange={setColour}
          readOnly={fixed}
          error={fault('colour')}
          eyeDropperButtonProps={{ 'aria-label': 'Pick a colour from the screen' }}
        />
        <Group align="flex-end">
          {logo && <Image src={logo} alt="The logo as it is" h={48} w="auto" maw={160} fit="contain" />}
          {!fixed && (
            <FileInput
              label="Logo"
              description="PNG, JPEG or SVG, at most 64 KB."
              accept="image/png,image/jpeg,image/svg+xml"
              placeholder="Choose a file"
              onChange={(file) => file && void readLogo(file).then(setLogo)}
              error={fault('logo')}
            />
          )}
          {logo && !fixed && (
            <Button variant="default" onClick={() => setLogo(null)}>
              Take the logo away
            </Button>
          )}
        </Group>
        {save.error && <Failure problem={save.error} />}
        {!fixed && (
          <Group>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
            {save.isSuccess && (
              <Text size="sm" role="status">
                Saved.
              </Text>
            )}
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

function linesOf(text: FormDataEntryValue | null): string[] {
  return String(text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function readLogo(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
