import { type Static, type TString, Type } from 'typebox';
import { AvailabilityQuery } from '../availability.ts';
import { choices, text } from '../fields.ts';

/** Checked by hand: the messages are part of the interface. */
const days = {
  start_date: Type.Optional(text({ description: 'First day (YYYY-MM-DD)', examples: ['2031-03-03'] })),
  end_date: Type.Optional(text({ description: 'Last day, inclusive (YYYY-MM-DD)', examples: ['2031-03-03'] })),
};

function listOfProviders(joined: TString) {
  return Type.Union([joined, Type.Array(text(), { maxItems: 100 })], {
    messages: { anyOf: 'provider_ids must be a comma-separated string or an array of strings' },
    description: '1 to 10 EMR IDs: one provider for up to 5 days, several for one day',
    examples: [['501']],
  });
}

export const AppointmentFetchRequest = Type.Object(
  {
    search_by: Type.Optional(
      choices(
        {
          date_range: 'All appointments of up to 7 days',
          mrn: 'The appointments of the patient with this `mrn`; days are optional',
          provider: 'The appointments of `provider_ids`, as first or second provider',
        },
        { default: 'date_range', description: 'What to search by', examples: ['date_range'] },
      ),
    ),
    ...days,
    mrn: Type.Optional(text({ description: 'Medical Record Number of the patient', examples: ['LK100001'] })),
    provider_ids: Type.Optional(listOfProviders(text())),
  },
  { schema_name: 'AppointmentFetch', description: 'A search for appointments in the EMR' },
);
export type AppointmentFetchRequest = Static<typeof AppointmentFetchRequest>;

const { start_date: _start, end_date: _end, provider_ids: _providers, ...options } = AvailabilityQuery.properties;

export const AvailabilityFetchRequest = Type.Object(
  { ...days, provider_ids: listOfProviders(text({ minLength: 1 })), ...options },
  { schema_name: 'AvailabilityFetch', description: 'Providers and days whose schedule is read in the EMR' },
);
export type AvailabilityFetchRequest = Static<typeof AvailabilityFetchRequest>;

/** The fields that are those of `GET /v1/availability`. */
// Object.keys loses the type of the keys.
export const availability_options = Object.keys(options) as (keyof typeof options)[];
