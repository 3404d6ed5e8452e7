import { Anchor, Stack, Table, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { ReceivedRequest } from '../../../../src/model/dashboard/receiver.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Payload } from '../../parts/Payload.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';
import { answeredAs } from './answeredAs.ts';

/** One request that the built-in receiver got. */
export function RequestDetails({ id }: { id: string }) {
  const { of } = useClient();
  const answer = useAnswer<{ request: ReceivedRequest }>(of(`receiver/requests/${id}`));
  return (
    <Answer to={answer}>
      {({ request }) => (
        <Stack>
          <Title order={2} size="h4" className="breakable">
            {request.event_type ?? 'Request'}
          </Title>
          <Fields
            of={{
              Signature: <Status of={request.verdict} />,
              Came: <Moment at={request.at} />,
              Answered: answeredAs(request),
              Try: request.attempt,
              Event: request.event_id && <EventLink request={request} />,
              Size: `${request.body_bytes} bytes`,
            }}
          />
          <Title order={3} size="h5">
            Headers
          </Title>
          <Headers headers={request.headers} />
          <Title order={3} size="h5">
            Body
          </Title>
          <Payload text={request.body} label="Body" />
        </Stack>
      )}
    </Answer>
  );
}

/** A test event is in no list, so there is nothing to lead to. */
function EventLink({ request: { event_id, event_type } }: { request: ReceivedRequest }) {
  if (event_type === 'webhook.test' || !/^[0-9a-f]{32}$/.test(event_id ?? '')) return <>{event_id}</>;
  return (
    <Anchor component={Link} href={`/${event_id}`} className="breakable">
      {event_id}
    </Anchor>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable.
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
