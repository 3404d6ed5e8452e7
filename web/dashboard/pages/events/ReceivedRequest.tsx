import { Anchor, Stack, Table, Title } from '@mantine/core';
import { Link } from 'wouter';
import { HiddenDetails } from '../../parts/HiddenDetails.tsx';
import { BackLink } from '../../parts/layout.tsx';
import { PayloadViewer } from '../../parts/PayloadViewer.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { EventName, Fields } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import type { ReceivedRow } from '../../service/types.ts';
import { describeResponse } from './ReceiverBehavior.tsx';

/** A request that the built-in receiver has received. */
export function ReceivedRequest({ id }: { id: string }) {
  const { client_id } = useClient();
  const query = useQuery('received.get', { client_id, id });
  return (
    <QueryResult query={query}>
      {({ request, details_hidden }) => (
        <Stack>
          <div>
            <BackLink href="/receiver">All received requests</BackLink>
            <Title order={2} size="h4" className="breakable">
              {request.event_type === null ? 'Request' : <EventName name={request.event_type} />}
            </Title>
          </div>
          <Fields
            of={{
              Signature: <Status of={request.verdict} />,
              Received: <Timestamp at={request.at} show="exact" />,
              Response: describeResponse(request),
              Attempt: request.attempt,
              Event: request.event_id && <EventLink request={request} />,
              Size: `${request.body_bytes} bytes`,
            }}
          />
          {details_hidden ? (
            <HiddenDetails kind="received_request" id={request.id} />
          ) : (
            <>
              <Title order={3} size="h5">
                Headers
              </Title>
              <Headers headers={request.headers} />
              <PayloadViewer text={request.body} label="Body" />
            </>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}

/** Test events have no page of their own. */
function EventLink({ request: { event_id, event_type } }: { request: ReceivedRow }) {
  if (event_type === 'webhook.test' || !/^[0-9a-f]{32}$/.test(event_id ?? '')) return <>{event_id}</>;
  return (
    <Anchor component={Link} href={`/${event_id}`} className="breakable">
      {event_id}
    </Anchor>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className="scroll" aria-label="Headers" tabIndex={0}>
      <Table verticalSpacing={4} aria-label="Headers">
        <Table.Tbody>
          {Object.entries(headers).map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td className="breakable">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
