import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { saveFile } from '../../parts/saveFile.ts';
import { callForFile } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';

/** Downloads the filtered list. Filters go in the body, because one of them may be an MRN. */
export function ExportJobs({ filters }: { filters: Record<string, string> }) {
  const { client_id } = useClient();
  const body = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
  return (
    <ActionButton
      size="sm"
      action={async () => saveFile('jobs.csv', await callForFile('jobs.export', { client_id }, { body }))}
    >
      Export CSV
    </ActionButton>
  );
}
