import { createContext, type ReactNode, use, useState } from 'react';
import { useClient } from '../../service/client.tsx';
import type { OrganizationOption } from '../../service/types.ts';

/** A patient search. It is health data: kept here while an operator browses records, and never in the URL. */
export type PatientSearch = Partial<Record<'first_name' | 'last_name' | 'mrn' | 'dob' | 'phone', string>>;

type SelectedOrganization = {
  organization: OrganizationOption;
  /** The path parameters of the organization's endpoints. */
  params: { client_id: string; organization_id: string };
  search: PatientSearch;
  setSearch: (search: PatientSearch) => void;
};

const OrganizationContext = createContext<SelectedOrganization | undefined>(undefined);

export function OrganizationProvider(props: { organization: OrganizationOption; children: ReactNode }) {
  const { organization, children } = props;
  const { client_id } = useClient();
  const [search, setSearch] = useState<PatientSearch>({});
  const params = { client_id, organization_id: organization.id };
  return <OrganizationContext value={{ organization, params, search, setSearch }}>{children}</OrganizationContext>;
}

/** The organization whose records are shown. */
export function useOrganization(): SelectedOrganization {
  const selected = use(OrganizationContext);
  if (!selected) throw new Error('useOrganization needs an OrganizationProvider above it.');
  return selected;
}
