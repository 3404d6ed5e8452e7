import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../../../model/fields.ts';

export const encryption = Type.Object({
  /** `file`: the service manages the master key and can rotate it. */
  source: Type.Enum(['settings', 'file']),
  current: Type.String(),
  previous: nullable(Type.String()),
  /** How many keys each master key wraps. */
  wrapped: Type.Array(Type.Object({ id: Type.String(), keys: Type.Integer() })),
  /** How many keys each process unwrapped for a purpose, today (UTC) and in the last 30 days. */
  unwraps: Type.Array(
    Type.Object({
      host: Type.String(),
      role: Type.String(),
      purpose: Type.String(),
      today: Type.Integer(),
      last_30_days: Type.Integer(),
    }),
  ),
});

/** What is deleted automatically, and after how many days; null means never. */
export const retention = Type.Array(
  Type.Object({ what: Type.String(), days: nullable(Type.Number()), setting: nullable(Type.String()) }),
);

/** The settings of the operators' sign-in with the values in force. They are changed where the service is configured. */
export const sign_in_policy = Type.Array(
  Type.Object({
    setting: Type.String(),
    description: Type.String(),
    /** Null: nothing is set, and the setting has no default. Secrets have none. */
    value: nullable(Type.String()),
    is_default: Type.Boolean(),
    group: Type.Enum(['access', 'sessions', 'four_eyes', 'single_sign_on']),
  }),
);

const channel_name = Type.Enum(['email', 'webhook']);

/** A message about the opening of an alert. */
const message = Type.Object({
  channel: channel_name,
  state: Type.Enum(['sent', 'pending', 'retrying', 'failed']),
  sent_at: nullable(date_time),
});

export const alert = Type.Object({
  id,
  code: Type.String(),
  title: Type.String(),
  severity: Type.Enum(['critical', 'warning']),
  summary: Type.String(),
  remedy: Type.String(),
  /** Below `/dashboard`. */
  page: Type.String(),
  opened_at: date_time,
  resolved_at: nullable(date_time),
});
export type Alert = Static<typeof alert>;

export const listed_alert = Type.Object({ ...alert.properties, messages: Type.Array(message) });
export type ListedAlert = Static<typeof listed_alert>;

/** Where alerts are sent. `problem`: why the last message was not sent. */
export const alert_channel = Type.Object({
  name: channel_name,
  target: Type.String(),
  last_sent_at: nullable(date_time),
  problem: nullable(Type.String()),
});

export const alert_overview = Type.Object({
  channels: Type.Array(alert_channel),
  quiet_hours: nullable(Type.String()),
  digest: nullable(Type.String()),
  open: Type.Array(listed_alert),
  /** The alerts that were resolved last. */
  recent: Type.Array(listed_alert),
});

export const alert_test = Type.Object({
  channel: channel_name,
  target: Type.String(),
  sent: Type.Boolean(),
  problem: nullable(Type.String()),
});
