import { Kbd, Loader, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { createSpotlight, Spotlight, useSpotlight } from '@mantine/spotlight';
import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { ErrorAlert } from '../parts/errors.tsx';
import { Icon } from '../parts/Icon.tsx';
import { call, type ResponseOf } from '../service/api.ts';
import { usePatientRequest } from '../service/patientRequest.tsx';
import { useAction } from '../service/queries.ts';
import type { Client } from '../service/types.ts';
import type { PageEntry } from './pages.ts';
import type { PaletteItem } from './paletteItems.ts';
import { usePaletteGroups } from './usePaletteGroups.ts';

const [store, palette] = createSpotlight();

export const openPalette = palette.open;

type Props = { pages: readonly PageEntry[]; client: Client | undefined };

/** Jumps to a job, event, request, patient, account, page or guide, and runs actions. Opened by `Ctrl K`, see useShortcuts. */
export function CommandPalette(props: Props) {
  return (
    <Spotlight.Root
      store={store}
      shortcut={null}
      title={<span className="visually-hidden">Go to</span>}
      styles={{ header: { minHeight: 0, padding: 0 } }}
      size={640}
      yOffset="10vh"
      overlayProps={{ backgroundOpacity: 0.45, blur: 2 }}
      transitionProps={{ duration: 0 }}
      zIndex={200}
    >
      <Palette {...props} />
    </Spotlight.Root>
  );
}

function Palette({ pages, client }: Props) {
  // The text may be a name or an MRN, so it is in no URL and is gone when the palette closes.
  const { query, selected } = useSpotlight(store);
  const text = query.trim();
  const [, navigate] = useLocation();
  const { setMrn } = usePatientRequest();
  const client_path = client && `/clients/${client.client_id}`;
  const search = useAction((name: string) => findPatients(client?.client_id ?? '', name));
  const { groups, is_name } = usePaletteGroups(text, { pages, client, patients: search.data });
  useNameSearch(text, is_name && !search.isPending && !search.data && !search.error, search.mutate);
  const items = groups.flatMap((group) => group.items);
  // Enter chooses the first one until the operator moves.
  const active = Math.min(Math.max(selected, 0), items.length - 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the results are another list.
  useEffect(() => store.setState({ ...store.getState(), selected: 0 }), [search.data]);
  const choose = ({ target }: PaletteItem) => {
    if ('find_patients' in target) return search.mutate(target.find_patients);
    palette.close();
    if ('run' in target) return target.run();
    if ('document' in target) return void window.open(target.document, '_blank', 'noreferrer');
    if ('page' in target) return navigate(target.page);
    setMrn(target.jobs_of);
    navigate(`${client_path}/jobs`);
  };
  return (
    <>
      <Spotlight.Search
        data-autofocus
        role="combobox"
        aria-label="Go to"
        aria-expanded
        aria-controls={list_id}
        aria-activedescendant={optionId(active)}
        placeholder="Search pages, jobs, patients, guides and actions"
        autoComplete="off"
        maxLength={200}
        leftSection={<Icon name="search" />}
        rightSection={search.isPending && <Loader size="xs" aria-label="Searching" />}
        onKeyDown={showSelection}
        onChange={() => {
          search.reset();
          showSelection();
        }}
      />
      <Spotlight.ActionsList id={list_id} role="listbox" aria-label="Results">
        {groups.map((group) => (
          <Spotlight.ActionsGroup key={group.label} label={group.label} role="group" aria-label={group.label}>
            {group.items.map((item) => {
              const index = items.indexOf(item);
              return <Option key={item.id} item={item} index={index} active={index === active} choose={choose} />;
            })}
          </Spotlight.ActionsGroup>
        ))}
      </Spotlight.ActionsList>
      {items.length === 0 && (
        <Text p="md" c="dimmed" role="status">
          {search.isPending ? 'Searching patients…' : search.data ? 'No matching patients' : 'No results'}
        </Text>
      )}
      {search.error && <ErrorAlert error={search.error} />}
      <Spotlight.Footer className="palette-footer" aria-hidden="true">
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> Move <Kbd size="xs">Enter</Kbd> Choose <Kbd size="xs">Esc</Kbd>{' '}
        Close
      </Spotlight.Footer>
    </>
  );
}

/**
 * Spotlight moves the selection in the document without a render, which updates what screen readers announce. It does so
 * after the handlers of its input.
 */
function showSelection(): void {
  queueMicrotask(() => store.setState({ ...store.getState() }));
}

const list_id = 'palette-results';
const optionId = (index: number) => `palette-result-${index}`;

type OptionProps = { item: PaletteItem; index: number; active: boolean; choose: (item: PaletteItem) => void };

/** The focus stays in the input, which handles the keys. */
function Option({ item, index, active, choose }: OptionProps) {
  const { label, hint, icon, keys } = item;
  return (
    <Spotlight.Action
      className="palette-option"
      role="option"
      // Spotlight does not pass on `id`.
      ref={(element: HTMLElement | null) => element?.setAttribute('id', optionId(index))}
      aria-selected={active}
      {...(active ? { 'data-selected': true } : {})}
      closeSpotlightOnTrigger={false}
      onClick={() => choose(item)}
    >
      <Icon name={icon} />
      <span className="breakable">{label}</span>
      <span className="palette-hint">
        {hint}
        {keys?.map((key) => (
          <Kbd key={key} size="xs">
            {key}
          </Kbd>
        ))}
      </span>
    </Spotlight.Action>
  );
}

/** How long nothing is typed before patients are looked for: each search is in the audit log. */
const name_pause_ms = 500;

/** Searches for patients by itself if the text can only be a name. */
function useNameSearch(text: string, is_name: boolean, search: (text: string) => void): void {
  const [settled] = useDebouncedValue(text, name_pause_ms);
  useEffect(() => {
    if (is_name && settled === text) search(text);
  }, [is_name, settled, text, search]);
}

async function findPatients(client_id: string, text: string): Promise<ResponseOf<'patients.find'>['patients']> {
  return (await call('patients.find', { client_id }, { body: { text } })).patients;
}
