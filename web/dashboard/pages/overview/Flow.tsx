import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Icon, type IconName } from '../../parts/Icon.tsx';
import { Section } from '../../parts/layout.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { age } from '../jobs/labels.ts';
import { counted } from './Tiles.tsx';

type Overview = ResponseOf<'overview.get'>['overview'];
type FlowData = Overview['flow'];
type Practice = FlowData['practices'][number];
type Endpoint = FlowData['endpoints'][number];

/** `stuck` needs somebody, `slow` waits for something, `busy` moves. */
type Tone = 'stuck' | 'slow' | 'busy' | 'idle';

/** One box of the picture, and the line that leads to it. Both are links to what they count. */
type FlowNode = {
  key: string;
  icon: IconName;
  title: string;
  text: string;
  href: string;
  tone: Tone;
  edge?: { label: string; href: string };
};

/** What passes through the service at this moment: application, API, queue, EMRs and webhooks. Red is where it is stuck. */
export function Flow({ overview }: { overview: Overview }) {
  const { client_id, linkTo } = useClient();
  const { flow, clients } = overview;
  const load = clients.find((each) => each.client_id === client_id);
  if (!load) return null;
  const { requests, writes } = flow;
  const toJobs = (query: Record<string, string>) => `${linkTo('/jobs')}?${new URLSearchParams(query)}`;
  const toRequests = `~/dashboard/requests?${new URLSearchParams({ client_id })}`;
  const failing = flow.practices.some((practice) => practice.failing !== null);
  const waiting = load.queued + load.running;
  const late = load.oldest_queued_at !== null && Date.now() - Date.parse(load.oldest_queued_at) > late_ms;
  const stages: FlowNode[][] = [
    [
      {
        key: 'application',
        icon: 'user',
        title: load.name,
        text: 'Application',
        href: toRequests,
        tone: requests.total > 0 ? 'busy' : 'idle',
      },
    ],
    [
      {
        key: 'api',
        icon: 'requests',
        title: 'API',
        text: `${requests.failed.toLocaleString()} refused`,
        href: `${toRequests}&status=failed`,
        tone: requests.total > 0 ? 'busy' : 'idle',
        edge: { label: `${capped(requests)} requests/h`, href: toRequests },
      },
    ],
    [
      {
        key: 'queue',
        icon: 'jobs',
        title: 'Queue',
        text: waiting === 0 ? 'Empty' : describeQueue(load),
        href: toJobs({ state: 'queued' }),
        tone: late ? (failing ? 'slow' : 'stuck') : waiting > 0 ? 'busy' : 'idle',
        edge: { label: `${capped(writes)} writes/h`, href: toJobs({ period: '1h' }) },
      },
    ],
    [
      ...flow.practices.map((practice) => toPracticeNode(practice, toJobs)),
      ...hiddenNode(flow.practices_hidden, 'practice', linkTo('/accounts')),
    ],
    [
      ...flow.endpoints.map((endpoint) => toEndpointNode(endpoint, linkTo)),
      ...hiddenNode(flow.endpoints_hidden, 'endpoint', linkTo('/events/endpoints')),
    ],
  ];
  return (
    <Section title="Flow">
      <ol className="flow">
        {stages.map((nodes, n) => (
          <Stage key={stage_names[n]} name={stage_names[n] ?? ''} nodes={nodes} before={stages[n - 1]?.length ?? 0} />
        ))}
      </ol>
    </Section>
  );
}

const stage_names = ['Application', 'API', 'Queue', 'EMRs', 'Webhooks'];

/** A queue that is worked on starts every job within a minute, retries aside. */
const late_ms = 5 * 60_000;

function describeQueue({ queued, running, oldest_queued_at }: Overview['clients'][number]): string {
  if (queued === 0) return `${running.toLocaleString()} running`;
  return `${queued.toLocaleString()} queued${oldest_queued_at === null ? '' : ` · ${age(oldest_queued_at)}`}`;
}

function toPracticeNode(practice: Practice, toJobs: (query: Record<string, string>) => string): FlowNode {
  const {
    id: organization_id,
    org_id,
    emr_name,
    failing,
    retrying,
    parked,
    waiting,
    succeeded,
    failed,
    relink,
  } = practice;
  const edge = failing
    ? { label: `${retrying.toLocaleString()} retrying · ${age(failing.since)}`, state: 'retrying' }
    : parked > 0
      ? { label: `${counted(parked, 'job')} parked`, state: 'parked' }
      : { label: waiting === 0 ? 'Nothing waiting' : `${waiting.toLocaleString()} waiting`, state: 'queued' };
  const problem = failing
    ? failing.silent
      ? 'Not responding'
      : 'Fails for some jobs'
    : relink > 0
      ? `${counted(relink, 'account')} to re-link`
      : undefined;
  return {
    key: org_id,
    icon: 'accounts',
    title: org_id,
    text: `${emr_name} · ${problem ?? describeDone(succeeded, failed)}`,
    href: toJobs({ organization_id, period: '24h' }),
    tone: failing ? 'stuck' : relink > 0 ? 'slow' : waiting > 0 ? 'busy' : 'idle',
    edge: { label: edge.label, href: toJobs({ state: edge.state, organization_id }) },
  };
}

function describeDone(succeeded: number, failed: number): string {
  if (succeeded + failed === 0) return 'idle';
  return failed === 0
    ? `${succeeded.toLocaleString()} done/h`
    : `${succeeded.toLocaleString()} done, ${failed.toLocaleString()} failed/h`;
}

function toEndpointNode(endpoint: Endpoint, linkTo: (path: string) => string): FlowNode {
  const { id, url, status, paused, since, pending, delivered } = endpoint;
  const href = linkTo(`/events/endpoints/${id}`);
  const state =
    since !== null ? `Failing · ${age(since)}` : paused ? 'Paused' : status === 'disabled' ? 'Disabled' : undefined;
  return {
    key: id,
    icon: 'events',
    title: shorten(url),
    text: state ?? `${delivered.toLocaleString()} delivered/h`,
    href,
    tone: since !== null ? 'stuck' : paused ? 'slow' : pending > 0 ? 'busy' : 'idle',
    edge: {
      label: pending === 0 ? 'Nothing waiting' : `${counted(pending, 'event')} waiting`,
      href: `${linkTo('/events')}?${new URLSearchParams({ webhook_id: id, ...(pending > 0 && { delivery_status: 'pending' }) })}`,
    },
  };
}

function hiddenNode({ count, troubled }: { count: number; troubled: number }, noun: string, href: string): FlowNode[] {
  if (count === 0) return [];
  const text = troubled === 0 ? 'No trouble' : `${troubled.toLocaleString()} in trouble`;
  const title = `and ${counted(count, `more ${noun}`)}`;
  return [{ key: 'hidden', icon: 'more', title, text, href, tone: troubled > 0 ? 'stuck' : 'idle' }];
}

function shorten(url: string): string {
  if (!URL.canParse(url)) return url;
  const { host, pathname } = new URL(url);
  return pathname === '/' ? host : `${host}${pathname}`;
}

/** `10,000+` if counting stopped there. */
function capped({ total, more }: { total: number; more: boolean }): string {
  return more ? `${(total - 1).toLocaleString()}+` : total.toLocaleString();
}

/** Of a row and of the gap below it, in pixels, as in overview.css. */
const row_px = 60;
const gap_px = 12;

function Stage({ name, nodes, before }: { name: string; nodes: FlowNode[]; before: number }) {
  return (
    <li className="flow-stage" aria-label={name}>
      {nodes.length === 0 && <Row node={nothing} offset_px={0} first={before === 0} />}
      {nodes.map((node, n) => (
        <Row
          key={node.key}
          node={node}
          // From the middle of the row to the middle of its stage, where the line starts.
          offset_px={((nodes.length - 1) / 2 - n) * (row_px + gap_px)}
          first={before === 0}
          joins={before > 1 ? before : 0}
        />
      ))}
    </li>
  );
}

const nothing: FlowNode = { key: 'nothing', icon: 'empty', title: 'None yet', text: '', href: '', tone: 'idle' };

type RowProps = { node: FlowNode; offset_px: number; first: boolean; joins?: number };

function Row({ node, offset_px, first, joins = 0 }: RowProps) {
  const { edge, href, icon, title, text, tone } = node;
  const line = !first && (
    <svg viewBox={`0 0 100 ${row_px}`} preserveAspectRatio="none" aria-hidden="true" className="flow-line">
      {/* Lines of the stage before come together at the middle. */}
      {Array.from({ length: joins }, (_, n) => {
        const from = row_px / 2 + offset_px + (n - (joins - 1) / 2) * (row_px + gap_px);
        return <path key={from} d={curve(0, from, 30, row_px / 2 + offset_px)} className="flow-join" />;
      })}
      <path d={curve(joins > 0 ? 30 : 0, row_px / 2 + offset_px, 100, row_px / 2)} />
    </svg>
  );
  const body: ReactNode = (
    <>
      <Icon name={tone === 'stuck' ? 'alert' : icon} size={16} />
      <span className="flow-title">{title}</span>
      <span className="flow-text">{text}</span>
    </>
  );
  return (
    <div className={`flow-row ${tone}`}>
      {!first && (
        <div className="flow-edge">
          {line}
          {edge && (
            <Link href={edge.href} className="flow-label">
              {edge.label}
            </Link>
          )}
        </div>
      )}
      {href === '' ? (
        <div className="flow-node">{body}</div>
      ) : (
        <Link href={href} className="flow-node">
          {body}
        </Link>
      )}
    </div>
  );
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
