import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';
import { Hours, Provider } from '../records/providers.ts';

export const organization_choice = Type.Object({
  id,
  org_id: Type.String(),
  emr_name: Type.String(),
  timezone: Type.String(),
});
export type OrganizationChoice = Static<typeof organization_choice>;

/** A patient found among all organizations of a client. */
export const found_patient = Type.Object({
  id,
  organization_id: id,
  org_id: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  dob: nullable(Type.String()),
  mrn: nullable(Type.String()),
});
export type FoundPatient = Static<typeof found_patient>;

/** A provider for the editor: its current values, which of them are set in the service, and the EMR's. */
export const edited_provider = Type.Object({
  provider: Provider,
  set: Type.Object({ status: nullable(activity), hours: Type.Boolean() }),
  emr: Type.Object({ status: activity, hours: Hours }),
});
export type EditedProvider = Static<typeof edited_provider>;

/** `appointment_minutes` is null if the practice has not set a duration. */
export const default_hours = Type.Object({
  hours: Hours,
  set: Type.Boolean(),
  appointment_minutes: nullable(Type.Integer()),
});
export type DefaultHours = Static<typeof default_hours>;
