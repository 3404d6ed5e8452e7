import type { ButtonProps } from '@mantine/core';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';

type Props = ButtonProps & {
  /** A finished job, or a patient. Disabled without. */
  of: { job_id: number } | { mrn: string } | undefined;
  opened?: () => void;
};

/** Signs in to the test EMR by a link that works once, and opens what the job wrote, or the patient's chart. */
export function OpenInLarkspur({ of, opened, ...look }: Props) {
  const { client_id } = useClient();
  return (
    <ActionButton
      {...look}
      disabled={of === undefined}
      action={async () => {
        if (of === undefined) return;
        const { url } = await call('sandbox.open', {}, { body: { client_id, ...of } });
        window.open(url, '_blank', 'noopener');
        opened?.();
      }}
    >
      Open in Larkspur
    </ActionButton>
  );
}
