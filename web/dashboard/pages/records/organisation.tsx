import { createContext, type ReactNode, use, useState } from 'react';
import type { OrganisationChoice } from '../../../../src/model/dashboard/records.ts';
import { useClient } from '../../service/client.tsx';

/** What patients are searched by. It is health data: kept here while one looks at records, and in no address. */
export type PatientSearch = Partial<Record<'first_name' | 'last_name' | 'mrn' | 'dob' | 'phone', string>>;

type Looked = {
  organisation: OrganisationChoice;
  /** The path in the dashboard's interface of something of this organisation: `of('records/staff')`. */
  of: (path: string) => string;
  search: PatientSearch;
  setSearch: (search: PatientSearch) => void;
};

const Looked = createContext<Looked | undefined>(undefined);

export function OrganisationScope({
  organisation,
  children,
}: {
  organisation: OrganisationChoice;
  children: ReactNode;
}) {
  const client = useClient();
  const [search, setSearch] = useState<PatientSearch>({});
  const of = (path: string) => client.of(`organisations/${organisation.id}/${path}`);
  return <Looked value={{ organisation, of, search, setSearch }}>{children}</Looked>;
}

/** The organisation whose records are looked at. */
export function useOrganisation(): Looked {
  const looked = use(Looked);
  if (!looked) throw new Error('This part is shown only below an organisation.');
  return looked;
}
