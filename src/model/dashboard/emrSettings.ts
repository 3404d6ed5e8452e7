import { Type } from 'typebox';
import { nullable } from '../fields.ts';

/** Which identifier of a patient is the MRN. Null or blank: not set. */
export const mrn_setting = {
  mrn_system: Type.Optional(nullable(Type.String({ maxLength: 500 }))),
  mrn_type: Type.Optional(nullable(Type.String({ maxLength: 50 }))),
};

/** The settings of an organization for its EMR's server. Fields that are not sent stay as they are. */
export const emr_settings_changes = Type.Object({
  ...mrn_setting,
  parallel_writes_max: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 16 }))),
});

/** The identifiers of a few patients. Of each value, only the last two characters are shown. */
export const identifier_sample = Type.Object({
  patients: Type.Integer(),
  identifiers: Type.Array(
    Type.Object({
      system: nullable(Type.String()),
      type: nullable(Type.String()),
      patients: Type.Integer(),
      examples: Type.Array(Type.String()),
    }),
  ),
});
