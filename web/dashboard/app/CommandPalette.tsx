import { Loader, Modal, Text, TextInput } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { ErrorAlert } from '../parts/errors.tsx';
import { Icon } from '../parts/Icon.tsx';
import { determineAccess } from '../service/access.ts';
import { call, type ResponseOf } from '../service/api.ts';
import { usePatientRequest } from '../service/patientRequest.tsx';
import { useAction, useQuery } from '../service/queries.ts';
import { useSession } from '../service/session.tsx';
import type { Client } from '../service/types.ts';
import type { PageEntry } from './pages.ts';
import {
  accountItems,
  documentItems,
  idItems,
  type PaletteGroup,
  type PaletteItem,
  pageItems,
  patientItems,
} from './paletteItems.ts';

type Props = { opened: boolean; onClose: () => void; pages: readonly PageEntry[]; client: Client | undefined };

/** Jumps to a job, event, request, patient, account, page or document. */
export function CommandPalette({ opened, onClose, ...content }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      withCloseButton={false}
      title={<span className="visually-hidden">Go to</span>}
      styles={{ header: { minHeight: 0, padding: 0 } }}
      padding={0}
      size={600}
      yOffset="10vh"
    >
      <Palette onClose={onClose} {...content} />
    </Modal>
  );
}

function Palette({ onClose, pages, client }: Omit<Props, 'opened'>) {
  // The text may be a name or an MRN, so it is in no URL and is gone when the palette closes.
  const [text, setText] = useState('');
  const [, navigate] = useLocation();
  const { setMrn } = usePatientRequest();
  const client_path = client && `/clients/${client.client_id}`;
  // Each search is in the audit log, so it starts when the operator chooses it and not with every keystroke.
  const search = useAction((name: string) => findPatients(client?.client_id ?? '', name));
  const groups = useGroups(text.trim(), pages, client, search.data);
  const shown = groups.flatMap(({ items }) => items);
  const [active_id, setActiveId] = useState<string>();
  // Enter chooses the first one until the operator moves.
  const active = Math.max(
    0,
    shown.findIndex(({ id }) => id === active_id),
  );
  const choose = ({ target }: PaletteItem) => {
    if ('find_patients' in target) return search.mutate(target.find_patients);
    onClose();
    if ('document' in target) return void window.open(target.document, '_blank', 'noreferrer');
    if ('page' in target) return navigate(target.page);
    setMrn(target.jobs_of);
    navigate(`${client_path}/jobs`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = shown[active];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step !== undefined) setActiveId(shown.at((active + step) % shown.length)?.id);
    else if (chosen) choose(chosen);
  };
  return (
    <>
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        className="palette-input"
        role="combobox"
        aria-label="Go to"
        aria-expanded
        aria-controls={list_id}
        aria-activedescendant={optionId(active)}
        placeholder="Page, job, event or request ID, account, patient"
        autoComplete="off"
        maxLength={200}
        leftSection={<Icon name="search" />}
        rightSection={search.isPending && <Loader size="xs" aria-label="Searching" />}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setActiveId(undefined);
          search.reset();
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette-options" role="listbox" id={list_id} aria-label="Results">
        {groups.map(({ label, items }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options, which a fieldset cannot contain
          <div key={label} role="group" aria-label={label}>
            <div className="secondary palette-group" aria-hidden="true">
              {label}
            </div>
            {items.map((item) => {
              const index = shown.indexOf(item);
              return <Option key={item.id} item={item} index={index} active={index === active} choose={choose} />;
            })}
          </div>
        ))}
      </div>
      {shown.length === 0 && (
        <Text p="md" c="dimmed" role="status">
          {search.data ? 'No matching patients' : 'No results'}
        </Text>
      )}
      {search.error && <ErrorAlert error={search.error} />}
    </>
  );
}

const list_id = 'palette-results';
const optionId = (index: number) => `palette-result-${index}`;

type OptionProps = { item: PaletteItem; index: number; active: boolean; choose: (item: PaletteItem) => void };

/** The focus stays in the input, which handles the keys. */
function Option({ item, index, active, choose }: OptionProps) {
  const { label, hint, icon } = item;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: see above
    <div
      className="palette-option"
      role="option"
      id={optionId(index)}
      aria-selected={active}
      ref={(element) => {
        if (active) element?.scrollIntoView({ block: 'nearest' });
      }}
      onClick={() => choose(item)}
    >
      <Icon name={icon} />
      <span className="breakable">{label}</span>
      {hint && <span className="secondary">{hint}</span>}
    </div>
  );
}

type PatientMatches = ResponseOf<'patients.find'>['patients'];

async function findPatients(client_id: string, text: string): Promise<PatientMatches> {
  return (await call('patients.find', { client_id }, { body: { text } })).patients;
}

function useGroups(
  text: string,
  pages: readonly PageEntry[],
  client: Client | undefined,
  patients: PatientMatches | undefined,
): PaletteGroup[] {
  const client_id = client?.client_id ?? '';
  const accounts = useQuery('accounts.list', { client_id }, { enabled: client !== undefined });
  const client_path = client && `/clients/${client_id}`;
  const { operator, may } = useSession();
  const access = determineAccess(operator, client_id);
  // Results replace everything else: the operator has chosen to look for a patient.
  if (patients) return [{ label: 'Patients', items: patients.map((patient) => patientItem(patient, client_path)) }];
  return [
    idItems(text, client_path),
    pageItems(text, pages, client_path, may('owner')),
    accountItems(text, accounts.data?.organizations ?? [], client_path),
    documentItems(text),
    patientItems(text, access.sees_patients ? client_path : undefined),
  ].filter(({ items }) => items.length > 0);
}

function patientItem(patient: PatientMatches[number], client_path: string | undefined): PaletteItem {
  const { id, organization_id, org_id, first_name, last_name, dob, mrn } = patient;
  return {
    id: `patient ${id}`,
    label: `${last_name}, ${first_name}`,
    hint: [dob, mrn, org_id].filter(Boolean).join(' · '),
    icon: 'records',
    target: { page: `${client_path}/records/${organization_id}/patients/${id}` },
  };
}
