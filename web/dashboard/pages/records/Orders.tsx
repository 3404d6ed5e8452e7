import { Title } from '@mantine/core';
import type { Order } from '../../../../src/model/records/orders.ts';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { usePages } from '../../service/usePages.ts';
import { DayFilters, useDayFilters } from './DayFilters.tsx';
import { useOrganization } from './organization.tsx';

export function Orders() {
  const { of } = useOrganization();
  const filters = useDayFilters();
  const found = usePages<Order>(of('records/orders/search'), { search: filters.search });
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Orders
      </Title>
      <DayFilters filters={filters} />
      <PagedRows
        of={found}
        label="Orders"
        columns={[...order_columns, patient_column]}
        keyOf={(row) => row.order_id}
        empty={filters.narrowed ? 'No order matches. Choose other days.' : 'No order is held yet.'}
      />
    </>
  );
}

const patient_column: Column<Order> = { head: 'Patient', cell: (row) => row.patient_name ?? row.patient_mrn };

export const order_columns: Column<Order>[] = [
  { head: 'Order', cell: (row) => row.order_name },
  { head: 'Date', cell: (row) => <time>{row.order_date}</time> },
  { head: 'Priority', cell: (row) => row.priority ?? '–' },
  { head: 'Assigned to', cell: (row) => row.assigned_to_name ?? '–' },
  { head: 'Results', cell: (row) => (row.lab_results === null ? '–' : resultOf(row.lab_results)) },
];

/** An EMR says more of a result than fits here; its state is what one looks for. */
function resultOf(results: Record<string, unknown>): string {
  return typeof results.status === 'string' ? results.status : 'Held';
}
