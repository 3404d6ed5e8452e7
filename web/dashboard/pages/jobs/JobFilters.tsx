import { Badge, CloseButton, Select } from '@mantine/core';
import { Filters, MrnSearch, TextFilter } from '../../parts/FilterBar.tsx';
import { countPeriod, PeriodFilter, usePeriod } from '../../parts/Period.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { failures, job_filters, job_types } from '../../service/api.gen.ts';
import { useSession } from '../../service/session.tsx';
import { useAccountOptions } from '../../service/useAccountOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';

const names = ['type', 'state', 'code', 'account_id', 'finished_from', 'finished_to'] as const;

/** The filters in the URL. */
export function useJobFilters(): Record<string, string> {
  const { get } = useUrlFilters();
  return { ...Object.fromEntries(names.map((name) => [name, get(name)])), ...usePeriod('from', 'to') };
}

const status_labels: Record<(typeof job_filters)[number], string> = {
  queued: 'Queued',
  running: 'Running',
  parked: 'Waiting for re-linking',
  succeeded: 'Succeeded',
  partial: 'Partial',
  failed: 'Failed',
  cancelled: 'Canceled',
  unfixed: 'Failed or partial, not run again',
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
  const select = (name: string, label: string, w: number, data: Option[]) => (
    <Select
      label={label}
      placeholder="All"
      clearable
      searchable={name === 'account_id' || name === 'code'}
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
  const values = [get('state'), get('code'), get('type'), get('account_id'), finished, props.mrn, props.reference];
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
      {select('account_id', 'Account', 145, accounts)}
      <PeriodFilter from="from" to="to" />
      {sees_patients && <MrnSearch mrn={props.mrn} setMrn={props.setMrn} />}
      {sees_patients && (
        <TextFilter label="Reference" maxLength={100} value={props.reference} onChange={props.setReference} />
      )}
      <FinishedFilter />
    </Filters>
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
