import { createContext, type ReactNode, use, useState } from 'react';
import type { OrganizationChoice } from '../../../../src/model/dashboard/records.ts';
import { useClient } from '../../service/client.tsx';

/** What patients are searched by. It is health data: kept here while one looks at records, and in no address. */
export type PatientSearch = Partial<Record<'first_name' | 'last_name' | 'mrn' | 'dob' | 'phone', string>>;

type Looked = {
  organization: OrganizationChoice;
  /** The path in the dashboard's interface of something of this organization: `of('records/staff')`. */
  of: (path: string) => string;
  search: PatientSearch;
  setSearch: (search: PatientSearch) => void;
};

const Looked = createContext<Looked | undefined>(undefined);

export function OrganizationScope({
  organization,
  children,
}: {
  organization: OrganizationChoice;
  children: ReactNode;
}) {
  const client = useClient();
  const [search, setSearch] = useState<PatientSearch>({});
  const of = (path: string) => client.of(`organizations/${organization.id}/${path}`);
  return <Looked value={{ organization, of, search, setSearch }}>{children}</Looked>;
}

/** The organization whose records are looked at. */
export function useOrganization(): Looked {
  const looked = use(Looked);
  if (!looked) throw new Error('This part is shown only below an organization.');
  return looked;
}
