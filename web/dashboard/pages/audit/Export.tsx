import { Button } from '@mantine/core';
import { Failure } from '../../parts/Failure.tsx';
import { askFile } from '../../service/ask.ts';
import { useAct } from '../../service/useService.ts';

type Asked = { filters: Record<string, string | undefined>; search: Record<string, string> | undefined };

/** What is looked at, as a file. */
export function Export({ filters, search }: Asked) {
  const save = useAct<void>(async () => {
    const asked = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
    // Always by POST: what is looked for may be a patient.
    const file = await askFile('audit/search.csv', { ...asked, ...search });
    const address = URL.createObjectURL(file);
    const anchor = Object.assign(document.createElement('a'), { href: address, download: 'audit.csv' });
    anchor.click();
    URL.revokeObjectURL(address);
  });
  return (
    <>
      <Button variant="light" size="compact-sm" loading={save.isPending} onClick={() => save.mutate()}>
        Export as CSV
      </Button>
      {save.error && <Failure problem={save.error} />}
    </>
  );
}
