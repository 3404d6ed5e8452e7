import { Alert, Group, Text, Textarea } from '@mantine/core';
import { type Body, call } from '../service/api.ts';
import { useClient } from '../service/client.tsx';
import { useSession } from '../service/session.tsx';
import { errorAt } from './errors.tsx';
import { FormDialog } from './forms/FormDialog.tsx';

/** Says that the role hides patient details, and reveals them to those who may. */
export function HiddenDetails({ kind, id }: Pick<Body<'reveals.create'>, 'kind' | 'id'>) {
  const { client_id } = useClient();
  const { may_reveal } = useSession().operator;
  return (
    <Alert color="gray" title="Patient details are hidden">
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={640}>
          Your role hides them.{' '}
          {may_reveal
            ? 'If you need them, reveal them for 15 minutes. This is recorded in the audit log.'
            : 'If you need them, ask an owner for permission to reveal them.'}
        </Text>
        {may_reveal && (
          <FormDialog
            opener="Reveal patient details…"
            title="Reveal patient details"
            submit="Reveal"
            action={(form) =>
              call('reveals.create', { client_id }, { body: { kind, id, reason: String(form.get('reason')) } })
            }
          >
            {(error) => (
              <>
                <Text size="sm">
                  They are shown to you for 15 minutes. Owners see your name, IP address and reason in the audit log.
                </Text>
                <Textarea
                  name="reason"
                  label="Reason"
                  description="At least 10 characters, without names or MRNs"
                  required
                  minLength={10}
                  maxLength={500}
                  autosize
                  minRows={2}
                  data-autofocus
                  error={errorAt(error, 'reason')}
                />
              </>
            )}
          </FormDialog>
        )}
      </Group>
    </Alert>
  );
}
