import { Button, Code, CopyButton, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { FormDialog } from '../../../parts/forms/FormDialog.tsx';
import { saveFile } from '../../../parts/saveFile.ts';
import { call } from '../../../service/api.ts';
import { useSession } from '../../../service/session.tsx';

/** How many codes are left, and a button that replaces them. */
export function RecoveryCodes({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const { operator } = useSession();
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" {...(operator.recovery_codes < 3 ? { c: 'red' } : {})}>
        {operator.recovery_codes} of 10 left. Each works once in place of a code or passkey.
      </Text>
      <FormDialog
        opener="Replace"
        title="Replace recovery codes"
        submit="Replace"
        look={{ flex: 'none' }}
        action={async () => onCodes((await call('me.recovery-codes.create', {})).recovery_codes)}
      >
        <Text size="sm">Your current recovery codes become invalid. Your other sessions are signed out.</Text>
      </FormDialog>
    </Group>
  );
}

/** New codes, which are not shown again. */
export function NewRecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const text = `${codes.join('\n')}\n`;
  return (
    <Stack>
      <Text size="sm">
        Store these recovery codes somewhere you can get to without this device. Each works once in place of a code or
        passkey. They are not shown again.
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" verticalSpacing="xs">
        {codes.map((code) => (
          <Code key={code} ta="center" p={6}>
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Stack gap="xs">
        <Group gap="xs" grow>
          <CopyButton value={text}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
          <Button
            variant="default"
            onClick={() => saveFile('chartwire-recovery-codes.txt', new Blob([text], { type: 'text/plain' }))}
          >
            Download
          </Button>
        </Group>
        <Button onClick={onDone}>I have saved them</Button>
      </Stack>
    </Stack>
  );
}
