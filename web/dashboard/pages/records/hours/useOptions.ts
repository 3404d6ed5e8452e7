import { useRecords } from '../RecordList.tsx';

type Option = { value: string; label: string };
/** The locations and visit types that a range can have. */
export type Options = { locations: Option[]; visit_types: Option[] };

/** The organization's locations and visit types; empty until they are loaded. */
export function useOptions(): Options {
  const locations = useRecords('locations').data?.locations ?? [];
  const visit_types = useRecords('visit_types').data?.visit_types ?? [];
  return {
    locations: locations.map(({ ehr_id, name }) => ({ value: ehr_id, label: name })),
    visit_types: visit_types.map(({ code, description }) => ({ value: code, label: description })),
  };
}
