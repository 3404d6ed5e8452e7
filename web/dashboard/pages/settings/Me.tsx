import { Alert, Button, Group, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { renderSVG } from 'uqr';
import { Copyable } from '../../parts/Copyable.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Failure } from '../../parts/Failure.tsx';
import { ask } from '../../service/ask.ts';
import { session_key, useSession } from '../../service/session.tsx';
import { useAct } from '../../service/useService.ts';

/** One's own password and second factor. */
export function Me() {
  const { operator } = useSession();
  return (
    <Stack maw={560}>
      {operator.password_temporary && (
        <Alert color="orange" role="status">
          Somebody else has seen your password. Choose your own.
        </Alert>
      )}
      <Password />
      <SecondFactor />
    </Stack>
  );
}

function Password() {
  const client = useQueryClient();
  const change = useAct<FormData>(async (typed) => {
    await ask('me/password', { method: 'POST', body: Object.fromEntries(typed) });
    await client.invalidateQueries({ queryKey: session_key });
  });
  return (
    <Paper
      withBorder
      p="md"
      component="form"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        change.mutate(new FormData(form), { onSuccess: () => form.reset() });
      }}
    >
      <Stack>
        <Title order={2} size="h4">
          Password
        </Title>
        <Secret name="password" label="Your present password" autoComplete="current-password" />
        <Secret
          name="new_password"
          label="The new one"
          description="At least 12 characters."
          autoComplete="new-password"
        />
        {change.error && <Failure problem={change.error} />}
        <Group>
          <Button type="submit" loading={change.isPending}>
            Change the password
          </Button>
          {change.isSuccess && (
            <Text size="sm" role="status">
              Changed. Your other sessions have ended.
            </Text>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}

function SecondFactor() {
  const { operator } = useSession();
  const client = useQueryClient();
  const renew = () => client.invalidateQueries({ queryKey: session_key });
  const offer = useAct<void, { secret: string; uri: string }>(() => ask('me/second-factor/offer', { method: 'POST' }));
  const turnOn = useAct<FormData>(async (typed) => {
    await ask('me/second-factor', {
      method: 'POST',
      body: { ...Object.fromEntries(typed), secret: offer.data?.secret },
    });
    await renew();
  });
  if (operator.totp) {
    return (
      <Paper withBorder p="md">
        <Stack>
          <Title order={2} size="h4">
            Second factor
          </Title>
          <Text size="sm">On: signing in also takes a code of your authenticator app.</Text>
          <div>
            <Dialog
              opener="Turn it off"
              title="Sign in by password alone?"
              submit="Turn it off"
              danger
              act={async (typed) => {
                await ask('me/second-factor/off', { method: 'POST', body: Object.fromEntries(typed) });
                await renew();
              }}
            >
              <Secret name="password" label="Your password" autoComplete="current-password" />
            </Dialog>
          </div>
        </Stack>
      </Paper>
    );
  }
  return (
    <Paper
      withBorder
      p="md"
      component="form"
      onSubmit={(event) => {
        event.preventDefault();
        turnOn.mutate(new FormData(event.currentTarget));
      }}
    >
      <Stack>
        <Title order={2} size="h4">
          Second factor
        </Title>
        <Text size="sm">Off. With it, signing in also takes a code of an authenticator app on your phone.</Text>
        {offer.data ? (
          <>
            <Text size="sm">Scan this with your app, or type the key into it.</Text>
            <img className="picture" alt="The key, for your app to scan" src={pictureOf(offer.data.uri)} />
            <Copyable label="key" value={offer.data.secret} />
            <TextInput
              name="code"
              label="The code your app shows now"
              inputMode="numeric"
              autoComplete="one-time-code"
              required
            />
            <Secret name="password" label="Your password" autoComplete="current-password" />
            {turnOn.error && <Failure problem={turnOn.error} />}
            <div>
              <Button type="submit" loading={turnOn.isPending}>
                Turn it on
              </Button>
            </div>
          </>
        ) : (
          <div>
            <Button variant="light" loading={offer.isPending} onClick={() => offer.mutate()}>
              Set it up
            </Button>
          </div>
        )}
        {offer.error && <Failure problem={offer.error} />}
      </Stack>
    </Paper>
  );
}

function pictureOf(uri: string): string {
  return `data:image/svg+xml;base64,${btoa(renderSVG(uri, { border: 2 }))}`;
}

function Secret(props: { name: string; label: string; description?: string; autoComplete: string }) {
  return <PasswordInput {...props} required visibilityToggleButtonProps={{ 'aria-label': 'Show what is typed' }} />;
}
