import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQuery as useReactQuery } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { formatDay } from '../pages/records/Day.tsx';
import { isOnPage, openDialog } from '../parts/openDialog.ts';
import { showToast } from '../parts/Toasts.tsx';
import { determineAccess } from '../service/access.ts';
import { call, type ResponseOf } from '../service/api.ts';
import { useQuery } from '../service/queries.ts';
import { useSession } from '../service/session.tsx';
import type { Client } from '../service/types.ts';
import type { PageEntry } from './pages.ts';
import {
  accountItems,
  actionItems,
  type DocumentEntry,
  documentItems,
  idItems,
  type PaletteAction,
  type PaletteGroup,
  type PaletteItem,
  pageItems,
  patientItems,
} from './paletteItems.ts';

type PatientMatches = ResponseOf<'patients.find'>['patients'];
type Sources = { pages: readonly PageEntry[]; client: Client | undefined; patients: PatientMatches | undefined };

/** What the palette lists for a text. `is_name`: nothing else matches, and the operator may look for patients. */
export function usePaletteGroups(text: string, sources: Sources): { groups: PaletteGroup[]; is_name: boolean } {
  const { pages, client, patients } = sources;
  const client_id = client?.client_id ?? '';
  const accounts = useQuery('accounts.list', { client_id }, { enabled: client !== undefined });
  const client_path = client && `/clients/${client_id}`;
  const { operator, may } = useSession();
  const { sees_patients } = determineAccess(operator, client_id);
  const actions = useActions(client);
  const documents = useDocuments(text);
  const matches = [
    idItems(text, client_path),
    pageItems(text, pages, client_path, may('owner')),
    actionItems(text, actions),
    accountItems(text, accounts.data?.organizations ?? [], client_path),
    documentItems(text, documents ?? []),
  ].filter(({ items }) => items.length > 0);
  const is_name =
    matches.length === 0 && documents !== undefined && sees_patients && client !== undefined && name.test(text);
  // Instead of the offer to look for them.
  const patient_group = patients
    ? { label: 'Patients', items: patients.map((patient) => patientItem(patient, client_path)) }
    : patientItems(text, sees_patients ? client_path : undefined);
  return { groups: [...(patients ? [] : matches), patient_group].filter(({ items }) => items.length > 0), is_name };
}

/** Numbers could be parts of IDs, so those are looked for only when the operator chooses it. */
const name = /^\p{L}[\p{L}' .,-]{2,}$/u;

function useActions(client: Client | undefined): PaletteAction[] {
  const { operator, sandbox } = useSession();
  const { may } = determineAccess(operator, client?.client_id);
  const [, navigate] = useLocation();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const actions: PaletteAction[] = [];
  if (isOnPage('run-again')) {
    actions.push({ label: 'Run this job again', icon: 'retry', run: () => openDialog('run-again') });
  }
  if (client && may('operator')) {
    const run = () => {
      openDialog('create-link');
      navigate(`/clients/${client.client_id}/accounts`);
    };
    actions.push({ label: 'Create link', hint: 'Link an account', icon: 'accounts', run });
  }
  if (sandbox && determineAccess(operator).may('operator')) {
    const onSuccess = ({ client_id, job_id }: ResponseOf<'sandbox.first-write'>) => {
      showToast(`Accepted as job ${job_id}.`);
      navigate(`/clients/${client_id}/jobs/${job_id}`);
    };
    const onError = (error: Error) => showToast(error.message, 'failed');
    // The palette is closed by then, so this is not a mutation of its own.
    const run = () => void call('sandbox.first-write', {}).then(onSuccess, onError);
    actions.push({ label: 'Send first write', hint: 'Sandbox', icon: 'send', run });
  }
  actions.push({ label: `Switch to ${scheme} mode`, icon: 'settings', run: () => setColorScheme(scheme) });
  return actions;
}

/** The index that the documentation's own search uses; undefined while it is being loaded. */
function useDocuments(text: string): readonly DocumentEntry[] | undefined {
  const { data, isError } = useReactQuery({
    queryKey: ['documents'],
    queryFn: async () => (await (await fetch('/docs/search.json')).json()) as DocumentEntry[],
    enabled: text.length >= 2,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return isError ? [] : data;
}

function patientItem(patient: PatientMatches[number], client_path: string | undefined): PaletteItem {
  const { id, organization_id, org_id, first_name, last_name, dob, mrn } = patient;
  return {
    id: `patient ${id}`,
    label: `${last_name}, ${first_name}`,
    hint: [dob && formatDay(dob), mrn, org_id].filter(Boolean).join(' · '),
    icon: 'user',
    target: { page: `${client_path}/records/${organization_id}/patients/${id}` },
  };
}
