import { Badge, CloseButton, Select } from '@mantine/core';
import { Filters, MrnSearch, TextFilter } from '../../parts/lists/FilterBar.tsx';
import { countPeriod, PeriodFilter, usePeriod } from '../../parts/lists/Period.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { failures, job_filters, job_types } from '../../service/api.gen.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { useAccountOptions } from '../../service/useAccountOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';

const names = [
  ...['type', 'state', 'code', 'reason', 'account_id', 'organization_id', 'emr', 'finished_from', 'finished_to'],
] as const;

/** The filters in the URL. */
export function useJobFilters(): Record<string, string> {
  const { get } = useUrlFilters();
  const filters = { ...Object.fromEntries(names.map((name) => [name, get(name)])), ...usePeriod('from', 'to') };
  // An unknown status filters nothing; the page says so.
  return { ...filters, state: isKnownState(get('state')) ? get('state') : '' };
}

/** The status that the URL names, if there is no such status. */
export function useUnknownState(): string | undefined {
  const state = useUrlFilters().get('state');
  return isKnownState(state) ? undefined : state;
}

function isKnownState(state: string): boolean {
  return state === '' || job_filters.some((known) => known === state);
}

const status_labels: Record<(typeof job_filters)[number], string> = {
  queued: 'Queued or waiting to retry',
  running: 'Running',
  retrying: 'Retrying',
  parked: 'Waiting for re-linking',
  succeeded: 'Succeeded',
  partial: 'Partial',
  failed: 'Failed',
  cancelled: 'Canceled',
  unfixed: 'Failed or partial, not repaired',
  needs_review: 'Needs review (all)',
  unresolved: 'Needs review (unresolved)',
};

type Option = { value: string; label: string };

type Props = {
  mrn: string;
  setMrn: (mrn: string) => void;
  reference: string;
  setReference: (reference: string) => void;
};

export function JobFilters(props: Props) {
  const { get, set, clear } = useUrlFilters();
  const { sees_patients } = useSession();
  const accounts = useAccountOptions();
  const { data: practices } = useQuery('organizations.list', { client_id: useClient().client_id });
  const organizations = (practices?.organizations ?? []).map(({ id, org_id }) => ({ value: id, label: org_id }));
  const select = (name: string, label: string, w: number, data: Option[]) => (
    <Select
      label={label}
      placeholder="All"
      clearable
      searchable={name !== 'state' && name !== 'type'}
      w={w}
      data={data}
      value={get(name) || null}
      onChange={(value) => set(name, value ?? '')}
      comboboxProps={{ width: 'max-content', position: 'bottom-start', middlewares: { flip: false } }}
    />
  );
  const types = Object.entries(job_types).map(([value, label]) => ({ value, label }));
  const states = job_filters.map((value) => ({ value, label: status_labels[value] }));
  const codes = Object.entries(failures).map(([value, { label }]) => ({ value, label }));
  const [finished, period] = [get('finished_from') + get('finished_to'), usePeriod('from', 'to')];
  const chosen = ['state', 'code', 'type', 'organization_id', 'account_id', 'emr'].map(get);
  const values = [...chosen, finished, props.mrn, props.reference];
  const onClear = () => {
    props.setMrn('');
    props.setReference('');
    clear();
  };
  return (
    <Filters used={values.filter((value) => value !== '').length + countPeriod(period)} onClear={onClear}>
      {select('state', 'Status', 150, states)}
      {select('code', 'Failure', 150, codes)}
      {select('type', 'Type', 145, types)}
      {organizations.length > 1 && select('organization_id', 'Practice', 145, organizations)}
      {select('account_id', 'Account', 145, accounts)}
      <PeriodFilter from="from" to="to" />
      {sees_patients && <MrnSearch mrn={props.mrn} setMrn={props.setMrn} />}
      {sees_patients && (
        <TextFilter label="Reference" maxLength={100} value={props.reference} onChange={props.setReference} />
      )}
      <FinishedFilter />
      <EmrFilter />
      <ReasonFilter />
    </Filters>
  );
}

/** Set by a link from an outage; can only be removed here. */
function EmrFilter() {
  const { get, set } = useUrlFilters();
  const emr = get('emr');
  if (emr === '') return null;
  return (
    <Badge
      size="lg"
      variant="light"
      rightSection={<CloseButton size="xs" aria-label="Remove EMR filter" onClick={() => set('emr', '')} />}
    >
      EMR: {emr}
    </Badge>
  );
}

/** Set by a click on a chart; can only be removed here. */
function FinishedFilter() {
  const { get, setAll } = useUrlFilters();
  const [from, to] = [get('finished_from'), get('finished_to')];
  if (from === '' && to === '') return null;
  return (
    <Badge
      size="lg"
      variant="light"
      rightSection={
        <CloseButton
          size="xs"
          aria-label="Remove Finished filter"
          onClick={() => setAll({ finished_from: '', finished_to: '' })}
        />
      }
    >
      Finished <Timestamp at={from || null} show="clock" /> to <Timestamp at={to || null} show="clock" />
    </Badge>
  );
}

/** Set by a link of the overview; can only be removed here. */
function ReasonFilter() {
  const { get, set } = useUrlFilters();
  if (get('reason') === '') return null;
  return (
    <Badge
      size="lg"
      variant="light"
      rightSection={<CloseButton size="xs" aria-label="Remove Same reason filter" onClick={() => set('reason', '')} />}
    >
      Same reason only
    </Badge>
  );
}
