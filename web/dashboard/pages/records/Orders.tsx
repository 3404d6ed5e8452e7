import type { Column } from '../../parts/lists/DataTable.tsx';
import { usePages } from '../../service/queries.ts';
import type { Order } from '../../service/types.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { Day } from './Day.tsx';
import { useOrganization } from './organization.tsx';
import { SearchList } from './RecordList.tsx';

export function Orders() {
  const { params } = useOrganization();
  const state = useDateFilters();
  const query = usePages('orders.search', params, { filters: state.filters });
  return (
    <SearchList
      kind="orders"
      title="Orders"
      query={query}
      filtered={Object.keys(state.filters).length > 0}
      columns={[...order_columns, { head: 'Patient', cell: (row) => row.patient_name ?? row.patient_mrn }]}
      rowKey={(row) => row.order_id}
    >
      <DateFilters state={state} />
    </SearchList>
  );
}

export const order_columns: Column<Order>[] = [
  { head: 'Order', cell: (row) => row.order_name },
  { head: 'Date', cell: (row) => <Day of={row.order_date} /> },
  { head: 'Priority', cell: (row) => row.priority ?? '–' },
  { head: 'Assigned to', cell: (row) => row.assigned_to_name ?? '–' },
  { head: 'Results', cell: (row) => (row.lab_results === null ? '–' : resultStatus(row.lab_results)) },
];

/** The result's status; the other fields of a result differ by EMR. */
function resultStatus(results: Record<string, unknown>): string {
  return typeof results.status === 'string' ? results.status : 'Available';
}
