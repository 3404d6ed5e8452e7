import { Badge } from '@mantine/core';

/** How each state of anything reads and looks. The word says it; the colour only helps. */
const looks: Record<string, { word: string; colour: string }> = {
  active: { word: 'Active', colour: 'green' },
  login_required: { word: 'Needs re-linking', colour: 'orange' },
  revoked: { word: 'Revoked', colour: 'gray' },
  queued: { word: 'Queued', colour: 'gray' },
  parked: { word: 'Waiting for re-linking', colour: 'orange' },
  running: { word: 'Running', colour: 'blue' },
  succeeded: { word: 'Succeeded', colour: 'green' },
  partial: { word: 'Partial', colour: 'yellow' },
  failed: { word: 'Failed', colour: 'red' },
  needs_review: { word: 'Needs review', colour: 'grape' },
  pending: { word: 'Pending', colour: 'blue' },
  pending_update: { word: 'Being updated', colour: 'blue' },
  success: { word: 'Delivered', colour: 'green' },
  enabled: { word: 'Enabled', colour: 'green' },
  disabled: { word: 'Disabled', colour: 'gray' },
  none: { word: 'Nobody to tell', colour: 'gray' },
  valid: { word: 'Signature valid', colour: 'green' },
  wrong: { word: 'Signature wrong', colour: 'red' },
  late: { word: 'Timestamp off', colour: 'orange' },
  missing: { word: 'Not signed', colour: 'gray' },
  failing: { word: 'Failing', colour: 'red' },
  inactive: { word: 'Inactive', colour: 'gray' },
};

export function Status({ of }: { of: string }) {
  const { word, colour } = looks[of] ?? { word: of, colour: 'gray' };
  return (
    <Badge color={colour} variant="light">
      {word}
    </Badge>
  );
}
