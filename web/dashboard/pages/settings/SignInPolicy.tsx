import { Badge, Code, Group, Stack, Text } from '@mantine/core';
import { DocsLink } from '../../parts/layout.tsx';
import { type Column, TableSection } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';

type Rule = ResponseOf<'sign-in-policy.get'>['policy'][number];

/** How operators sign in, and which setting changes it. Read only: it belongs to the configuration of the service. */
export function SignInPolicy() {
  const query = useQuery('sign-in-policy.get', {});
  return (
    <QueryResult query={query}>
      {({ policy }) => {
        const sso = policy.some(({ setting, value }) => setting === 'OIDC_ISSUER' && value !== null);
        const shown = policy.filter(
          ({ group, setting }) => sso || group !== 'single_sign_on' || setting === 'OIDC_ISSUER',
        );
        return (
          <Stack>
            <Text size="sm" c="dimmed">
              How operators sign in. To change it, set the environment variable where the service is configured, and
              restart it. <DocsLink path="/operators">Operators and sign-in</DocsLink>
            </Text>
            {groups.map(({ group, title }) => (
              <TableSection
                key={group}
                title={title}
                rows={shown.filter((rule) => rule.group === group)}
                columns={columns}
                rowKey={({ setting }) => setting}
              />
            ))}
          </Stack>
        );
      }}
    </QueryResult>
  );
}

const groups: { group: Rule['group']; title: string }[] = [
  { group: 'access', title: 'Access' },
  { group: 'sessions', title: 'Sessions' },
  { group: 'four_eyes', title: 'Four eyes' },
  { group: 'single_sign_on', title: 'Single sign-on' },
];

const columns: Column<Rule>[] = [
  { head: 'Setting', cell: ({ setting }) => <Code className="unbroken">{setting}</Code> },
  {
    head: 'In force',
    phone: 'end',
    cell: ({ value, is_default }) => (
      <Group gap="xs">
        <Text size="sm" component="span" className={value === null ? 'nowrap' : 'breakable'}>
          {value ?? 'Not set'}
        </Text>
        {!is_default && <Badge variant="light">Changed</Badge>}
      </Group>
    ),
  },
  { head: 'Meaning', cell: ({ description }) => <Text size="sm">{description}</Text>, phone: 'line' },
];
