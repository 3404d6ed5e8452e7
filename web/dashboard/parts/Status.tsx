import { Badge } from '@mantine/core';
import { Fragment } from 'react';

/** The label and color of every status. */
const statuses: Record<string, { label: string; color: string }> = {
  active: { label: 'Active', color: 'green' },
  login_required: { label: 'Needs re-linking', color: 'orange' },
  revoked: { label: 'Revoked', color: 'gray' },
  queued: { label: 'Queued', color: 'gray' },
  parked: { label: 'Waiting for re-linking', color: 'orange' },
  running: { label: 'Running', color: 'blue' },
  succeeded: { label: 'Succeeded', color: 'green' },
  partial: { label: 'Partial', color: 'yellow' },
  failed: { label: 'Failed', color: 'red' },
  cancelled: { label: 'Canceled', color: 'gray' },
  needs_review: { label: 'Needs review', color: 'grape' },
  pending: { label: 'Pending', color: 'blue' },
  retrying: { label: 'Retrying', color: 'orange' },
  pending_update: { label: 'Updating', color: 'blue' },
  success: { label: 'Delivered', color: 'green' },
  failing: { label: 'Failing', color: 'red' },
  enabled: { label: 'Enabled', color: 'green' },
  disabled: { label: 'Disabled', color: 'gray' },
  paused: { label: 'Paused', color: 'yellow' },
  none: { label: 'No endpoints', color: 'gray' },
  valid: { label: 'Valid signature', color: 'green' },
  wrong: { label: 'Invalid signature', color: 'red' },
  late: { label: 'Stale timestamp', color: 'orange' },
  missing: { label: 'Not signed', color: 'gray' },
  critical: { label: 'Critical', color: 'red' },
  warning: { label: 'Warning', color: 'orange' },
  inactive: { label: 'Inactive', color: 'gray' },
  waiting: { label: 'Waiting', color: 'blue' },
  approved: { label: 'Approved', color: 'green' },
  executed: { label: 'Executed', color: 'green' },
  refused: { label: 'Refused', color: 'red' },
  expired: { label: 'Expired', color: 'gray' },
  confirmed: { label: 'Confirmed', color: 'green' },
  remove: { label: 'To be removed', color: 'red' },
  error: { label: 'Error', color: 'red' },
  unknown: { label: 'Unknown', color: 'gray' },
};

/** The status of a delivery or of an event's deliveries. Pending after a failed attempt means that it is retried. */
export function deliveryStatus({
  status,
  tries,
}: {
  status: string | null;
  tries: number | readonly unknown[];
}): string {
  const attempts = typeof tries === 'number' ? tries : tries.length;
  return status === 'pending' && attempts > 0 ? 'retrying' : (status ?? 'none');
}

/** The label alone, for titles. */
export function statusLabel(status: string): string {
  return statuses[status]?.label ?? status;
}

export function Status({ of }: { of: string }) {
  const { label, color } = statuses[of] ?? { label: of, color: 'gray' };
  return (
    <Badge color={color} variant="light">
      {label.split(' ').map((word, index) => (
        <Fragment key={word}>
          {index > 0 && ' '}
          {word.includes('-') ? <span className="whole">{word}</span> : word}
        </Fragment>
      ))}
    </Badge>
  );
}
