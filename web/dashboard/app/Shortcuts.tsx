import { Kbd, Modal, Switch, Table } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Fragment, useEffect, useRef } from 'react';
import { handleListKey } from '../parts/lists/listKeys.ts';
import type { PageEntry } from './pages.ts';

/** `g` and this key open a page. */
export const page_keys: Record<string, string> = {
  '/overview': 'o',
  '/accounts': 'a',
  '/jobs': 'j',
  '/events': 'e',
  '/records': 'r',
  '/requests': 'q',
  '/sandbox': 'x',
  '/audit': 'l',
  '/settings': 's',
};

/** WCAG 2.1.4: shortcuts of a single character can be turned off, because speech input may trigger them. */
function useSingleKeys() {
  return useLocalStorage({ key: 'single-key-shortcuts', defaultValue: true });
}

type Actions = { openPalette: () => void; openList: () => void; openPage: (page: PageEntry) => void };

/** Listens for the shortcuts that work on every page. */
export function useShortcuts(pages: readonly PageEntry[], actions: Actions): void {
  const [single_keys] = useSingleKeys();
  const latest = useRef({ pages, actions, single_keys });
  latest.current = { pages, actions, single_keys };
  useEffect(() => {
    let after_g = false;
    const onKeyDown = (event: KeyboardEvent) => {
      const { pages, actions, single_keys } = latest.current;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        // Browsers use it for their own search.
        event.preventDefault();
        actions.openPalette();
        return;
      }
      if (!single_keys || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === '?') actions.openList();
      const page = after_g ? pages.find(({ path }) => page_keys[path] === event.key) : undefined;
      after_g = event.key === 'g';
      if (page) actions.openPage(page);
      else if (handleListKey(event.key)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input:not([type=checkbox]), textarea, select, [role=dialog], [role=menu]') !== null
  );
}

export function ShortcutList(props: { opened: boolean; onClose: () => void; pages: readonly PageEntry[] }) {
  const [single_keys, setSingleKeys] = useSingleKeys();
  const rows: [string, readonly string[]][] = [
    ['Open search', ['Ctrl', 'K']],
    ['Show keyboard shortcuts', ['?']],
    ...props.pages.flatMap(({ label, path }): [string, string[]][] => {
      const key = page_keys[path];
      return key ? [[label, ['g', key]]] : [];
    }),
    ['Next row of a list', ['j']],
    ['Previous row', ['k']],
    ['Open row', ['Enter']],
    ['Select row', ['x']],
    ['Close dialog', ['Esc']],
  ];
  return (
    <Modal opened={props.opened} onClose={props.onClose} title="Keyboard shortcuts">
      <Table aria-label="Keyboard shortcuts" mb="md">
        <Table.Tbody>
          {rows.map(([label, keys]) => (
            <Table.Tr key={label}>
              <Table.Td>{label}</Table.Td>
              <Table.Td ta="right" className="nowrap">
                {keys.map((key, n) => (
                  <Fragment key={key}>
                    {n > 0 && ' '}
                    <Kbd>{key}</Kbd>
                  </Fragment>
                ))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Switch
        label="Single-key shortcuts"
        checked={single_keys}
        onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
      />
    </Modal>
  );
}
