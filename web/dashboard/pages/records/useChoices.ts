import type { Location } from '../../../../src/model/records/locations.ts';
import type { VisitCode } from '../../../../src/model/records/visitTypes.ts';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';

/** The locations and visit types of the organization, to choose from; none until they are there. */
export function useChoices() {
  const { of } = useOrganization();
  const locations = useAnswer<{ locations: Location[] }>(of('records/locations'));
  const visit_types = useAnswer<{ visit_types: VisitCode[] }>(of('records/visit_types'));
  return {
    locations: (locations.data?.locations ?? []).map(({ ehr_id, name }) => ({ value: ehr_id, label: name })),
    visit_types: (visit_types.data?.visit_types ?? []).map(({ code, description }) => ({
      value: code,
      label: description,
    })),
  };
}
