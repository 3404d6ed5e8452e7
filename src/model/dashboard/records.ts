import { type Static, Type } from 'typebox';
import { activity, date_time, id, nullable } from '../fields.ts';
import { Hours, Provider } from '../provider.ts';
import { shown_kinds } from './recordKinds.ts';

export const organization_choice = Type.Object({
  id,
  org_id: Type.String(),
  emr_name: Type.String(),
  timezone: Type.String(),
});
export type OrganizationChoice = Static<typeof organization_choice>;

export const kind_row = Type.Object({
  kind: Type.Enum([...shown_kinds]),
  total: Type.Integer(),
  /** The last complete sync of the kind; null if there was none. */
  synced_at: nullable(date_time),
});

/** A provider for the edit form: the effective values, what is overridden in the service, and the EMR's values. */
export const edited_provider = Type.Object({
  provider: Provider,
  set: Type.Object({ status: nullable(activity), hours: Type.Boolean() }),
  emr: Type.Object({ status: activity, hours: Hours }),
});
export type EditedProvider = Static<typeof edited_provider>;

export const default_hours = Type.Object({ hours: Hours, set: Type.Boolean() });
export type DefaultHours = Static<typeof default_hours>;
