import { retry } from '../../../platform/worker/backoff.ts';
import { type JobState, job_transitions } from '../../../product/jobs/jobs.ts';
import { retry_delays_ms } from '../../../product/webhooks/deliveries.ts';
import { type Html, html } from '../html.ts';
import {
  arrow,
  bottom,
  box,
  circle,
  type Drawing,
  frame,
  inline,
  label,
  left,
  middle,
  type Place,
  type Point,
  path,
  right,
  type Tone,
  toFile,
  top,
} from './drawing.ts';

/** A diagram has a second layout for narrow screens, where the wide one would be too small to read. */
type Diagram = (width: 'wide' | 'narrow') => Drawing;

/** By the name of the file in `docs/images`, by which guides refer to them. States and times are those of the code. */
const diagrams: Readonly<Record<string, { title: string; draw: Diagram }>> = {
  'write.svg': { title: 'A write, from its request to its event', draw: drawWrite },
  'job-states.svg': { title: 'The states of a job', draw: drawJobStates },
  'link-sequence.svg': { title: 'The sequence of Link', draw: drawLinkSequence },
  'delivery-retries.svg': { title: 'The attempts of a delivery', draw: drawDeliveryRetries },
  'high-availability.svg': {
    title: 'Processes and databases of a highly available installation',
    draw: drawHighAvailability,
  },
  'fhir-sign-in.svg': { title: 'Which FHIR sign-in to choose', draw: drawFhirSignIn },
};

/** The diagram of an image's address, in both layouts; the style sheet shows one. Undefined for other images. */
export function findDiagram(address: string, alternative: string): Html | undefined {
  const { draw } = diagrams[address.replace(/^\/docs\/images\//, '')] ?? {};
  if (!draw) return undefined;
  return html`<span class="diagram">${inline(draw('wide'), alternative, 'wide')}${inline(draw('narrow'), alternative, 'narrow')}</span>`;
}

/** The files that are generated, by name. */
export function diagramFiles(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(diagrams).map(([name, { title, draw }]) => [name, toFile(draw('wide'), title)]),
  );
}

/** From a request to its webhook. */
function drawWrite(width: 'wide' | 'narrow'): Drawing {
  const wide = width === 'wide';
  const places: Record<'application' | 'request' | 'job' | 'emr' | 'event' | 'webhook', Place> = wide
    ? {
        application: { x: 0, y: 42, w: 104, h: 76 },
        request: { x: 184, y: 42, w: 104, h: 76 },
        job: { x: 318, y: 42, w: 104, h: 76 },
        emr: { x: 318, y: 190, w: 104, h: 50 },
        event: { x: 452, y: 42, w: 104, h: 76 },
        webhook: { x: 636, y: 42, w: 104, h: 76 },
      }
    : {
        application: { x: 30, y: 0, w: 150, h: 50 },
        request: { x: 30, y: 112, w: 150, h: 58 },
        job: { x: 30, y: 202, w: 150, h: 58 },
        emr: { x: 250, y: 202, w: 90, h: 58 },
        event: { x: 30, y: 292, w: 150, h: 58 },
        webhook: { x: 30, y: 412, w: 150, h: 58 },
      };
  const { application, request, job, emr, event, webhook } = places;
  const [out, into] = wide ? [right, left] : [bottom, top];
  const between = (a: Place, b: Place, text: string) => {
    const [[x1, y1], [x2, y2]] = [out(a), into(b)];
    return [
      arrow([
        [x1, y1],
        [x2, y2],
      ]),
      ...(text === ''
        ? []
        : [
            wide
              ? label(text, [text === 'request' ? x1 + 32 : x2 - 32, y1 - 8])
              : label(text, [x1 + 10, y1 + 26], 'start'),
          ]),
    ];
  };
  const [jx, jy] = wide ? bottom(job) : right(job);
  const [ex, ey] = wide ? top(emr) : left(emr);
  const shift = (by: number): Point[] =>
    wide
      ? [
          [jx + by, jy],
          [ex + by, ey],
        ]
      : [
          [jx, jy + by],
          [ex, ey + by],
        ];
  return {
    width: wide ? 740 : 340,
    height: wide ? 240 : 470,
    parts: [
      wide
        ? frame({ x: 168, y: 8, w: 404, h: 130 }, 'Chartwire')
        : frame({ x: 14, y: 80, w: 182, h: 286 }, 'Chartwire'),
      box(application, 'Your application'),
      ...between(application, request, 'request'),
      box(request, 'Accepted', { note: 'stored; job_id in the response', tone: 'own' }),
      ...between(request, job, ''),
      box(job, 'Job', { note: `retried for ${formatTime(retry.total_ms)}`, tone: 'own' }),
      arrow(shift(-10)),
      arrow(shift(10).reverse()),
      label(wide ? 'write, marked' : 'write', wide ? [jx - 18, jy + 42] : [jx + 43, jy - 18], wide ? 'end' : 'middle'),
      label('outcome', wide ? [jx + 18, jy + 42] : [jx + 43, jy + 28], wide ? 'start' : 'middle'),
      box(emr, 'EMR'),
      ...between(job, event, ''),
      box(event, 'Event', { note: 'exactly one for each job', tone: 'own' }),
      ...between(event, webhook, 'signed'),
      box(webhook, 'Your webhook', { note: `up to ${retry_delays_ms.length} attempts` }),
    ],
  };
}

/** Where each state is drawn; a state that is missing here does not compile. */
function drawJobStates(width: 'wide' | 'narrow'): Drawing {
  const wide = width === 'wide';
  const [w, h] = wide ? [150, 44] : [132, 44];
  const [end_x, first_y] = wide ? [590, 0] : [208, 92];
  const at = (x: number, y: number): Place => ({ x, y, w, h });
  const places: Record<JobState, Place> = {
    queued: wide ? at(0, 93) : at(0, 0),
    running: wide ? at(300, 93) : at(0, 164),
    succeeded: at(end_x, first_y),
    partial: at(end_x, first_y + 62),
    failed: at(end_x, first_y + 124),
    needs_review: at(end_x, first_y + 186),
    cancelled: wide ? at(0, 186) : at(208, 0),
  };
  const tones: Record<JobState, Tone> = {
    queued: 'own',
    running: 'own',
    succeeded: 'good',
    partial: 'bad',
    failed: 'bad',
    needs_review: 'bad',
    cancelled: 'plain',
  };
  const edge = ([from, to]: readonly [JobState, JobState]): Html => {
    const [a, b] = [places[from], places[to]];
    if (from === 'running' && to !== 'queued') {
      const [[x1, y1], [x2, y2]] = [right(a), left(b)];
      const turn = x2 - (wide ? 45 : 38);
      return arrow([
        [x1, y1],
        [turn, y1],
        [turn, y2],
        [x2, y2],
      ]);
    }
    if (to === 'cancelled') return wide ? arrow([bottom(a), top(b)]) : arrow([right(a), left(b)]);
    // There and back, next to each other.
    const by = to === 'running' ? -11 : 11;
    const [[x1, y1], [x2, y2]] = wide
      ? to === 'running'
        ? [right(a), left(b)]
        : [left(a), right(b)]
      : to === 'running'
        ? [bottom(a), top(b)]
        : [top(a), bottom(b)];
    return wide
      ? arrow([
          [x1, y1 + by],
          [x2, y2 + by],
        ])
      : arrow([
          [x1 + by, y1],
          [x2 + by, y2],
        ]);
  };
  const [qx, qy] = wide ? [225, 93] : [66, 104];
  return {
    width: wide ? 740 : 340,
    height: wide ? 230 : 322,
    parts: [
      ...job_transitions.map(edge),
      ...Object.entries(places).map(([state, place]) =>
        box(place, state, { tone: tones[state as JobState], mono: true }),
      ),
      ...(wide
        ? [
            label('its turn', [qx, qy + 2]),
            label('retry, or waiting', [qx, qy + 52]),
            label('for re-linking', [qx, qy + 68]),
          ]
        : [
            label('its turn', [qx - 20, qy], 'end'),
            label('retry or', [qx + 22, qy - 8], 'start'),
            label('re-linking', [qx + 22, qy + 8], 'start'),
          ]),
    ],
  };
}

function drawLinkSequence(width: 'wide' | 'narrow'): Drawing {
  const wide = width === 'wide';
  const columns = wide ? [70, 275, 480, 670] : [42, 126, 228, 304];
  const [server, browser, service, emr] = [0, 1, 2, 3] as const;
  const steps: readonly [from: number, to: number, text: string, answer?: 'answer'][] = [
    [server, service, 'POST /link/token/create'],
    [service, server, 'link token', 'answer'],
    [server, browser, 'link token'],
    [browser, service, wide ? 'Link: consent, then sign-in' : 'consent, sign-in'],
    [service, emr, 'sign-in'],
    [emr, service, 'session', 'answer'],
    [service, browser, 'public token', 'answer'],
    [browser, server, 'public token'],
    [server, service, 'GET /link/token/exchange'],
    [service, server, 'access token: store it', 'answer'],
  ];
  const [box_width, row] = wide ? [124, 36] : [72, 38];
  const names = wide
    ? ['Your server', 'Browser', 'Chartwire', 'EMR']
    : ['Your server', 'Browser', 'Chart- wire', 'EMR'];
  const height = 62 + steps.length * row + 6;
  const x = (column: number) => columns[column] ?? 0;
  return {
    width: wide ? 740 : 340,
    height,
    parts: [
      ...names.flatMap((name, column) => [
        path(`M${x(column)} 44V${height}`, { faint: true }),
        box({ x: x(column) - box_width / 2, y: 0, w: box_width, h: 44 }, name, {
          tone: column === service ? 'own' : 'plain',
        }),
      ]),
      ...steps.flatMap(([from, to, text, answer], index) => {
        const y = 62 + (index + 0.6) * row;
        return [
          arrow(
            [
              [x(from), y],
              [x(to), y],
            ],
            { dashed: answer !== undefined },
          ),
          label(text, [(x(from) + x(to)) / 2, y - 7]),
        ];
      }),
    ],
  };
}

/** The attempts of a delivery on a time line, on which later pauses are drawn shorter than they are. */
function drawDeliveryRetries(width: 'wide' | 'narrow'): Drawing {
  const elapsed = retry_delays_ms.map((_, index) =>
    retry_delays_ms.slice(0, index + 1).reduce((sum, ms) => sum + ms, 0),
  );
  const parts: Html[] = [];
  if (width === 'narrow') {
    const row = 44;
    for (const [index, ms] of retry_delays_ms.entries()) {
      const y = 14 + index * row;
      if (index > 0) {
        parts.push(path(`M110 ${y - row + 11}V${y - 11}`));
        parts.push(label(`+ ${formatTime(ms)}`, [96, y - row / 2 + 4], 'end'));
      }
      parts.push(circle([110, y], `${index + 1}`), label(formatElapsed(elapsed[index] ?? 0), [134, y + 4.5], 'start'));
    }
    return { width: 340, height: 28 + (retry_delays_ms.length - 1) * row, parts };
  }
  const longest = elapsed.at(-1) ?? 1;
  const x = (ms: number) => 14 + 700 * (ms / longest) ** 0.3;
  const y = 70;
  for (const [index, ms] of elapsed.entries()) {
    const before = elapsed[index - 1];
    if (before !== undefined) {
      const [from, to] = [x(before), x(ms)];
      const high = Math.min(34, (to - from) / 2);
      parts.push(
        path(
          `M${round(from)} ${y - 11}Q${round((from + to) / 2)} ${round(y - 11 - high * 1.6)} ${round(to)} ${y - 11}`,
        ),
      );
      parts.push(label(formatTime(retry_delays_ms[index] ?? 0), [(from + to) / 2, y - 17 - high * 0.8]));
    }
    parts.push(circle([x(ms), y], `${index + 1}`));
    // The first two are too close to each other.
    if (index !== 1) parts.push(label(formatElapsed(ms), [x(ms), y + 30], index === 0 ? 'start' : 'middle'));
  }
  return { width: 740, height: 106, parts };
}

function drawHighAvailability(width: 'wide' | 'narrow'): Drawing {
  const wide = width === 'wide';
  const at = (x: number, y: number, w: number, h: number): Place => ({ x, y, w, h });
  const places = wide
    ? {
        clients: at(0, 32, 100, 60),
        http: at(140, 32, 110, 60),
        apis: [at(300, 22, 110, 34), at(300, 66, 110, 34)],
        workers: [at(300, 136, 110, 34), at(300, 180, 110, 34)],
        tcp: at(452, 88, 110, 60),
        primary: at(604, 22, 136, 52),
        standbys: [at(592, 164, 70, 40), at(672, 164, 70, 40)],
      }
    : {
        clients: at(20, 0, 120, 40),
        http: at(20, 72, 120, 52),
        apis: [at(0, 172, 72, 40), at(84, 172, 72, 40)],
        workers: [at(184, 172, 72, 40), at(268, 172, 72, 40)],
        tcp: at(104, 258, 132, 52),
        primary: at(104, 342, 132, 52),
        standbys: [at(20, 440, 132, 40), at(188, 440, 132, 40)],
      };
  const { clients, http, apis, workers, tcp, primary, standbys } = places;
  const join = (a: Place, b: Place): Html => {
    const [from, to] = wide ? [right(a), left(b)] : [bottom(a), top(b)];
    const bend = wide ? (from[0] + to[0]) / 2 : (from[1] + to[1]) / 2;
    return arrow(wide ? [from, [bend, from[1]], [bend, to[1]], to] : [from, [from[0], bend], [to[0], bend], to]);
  };
  const turn = bottom(primary)[1] + (wide ? 45 : 24);
  const replicate = (standby: Place): Html =>
    arrow([bottom(primary), [bottom(primary)[0], turn], [top(standby)[0], turn], top(standby)], { dashed: true });
  return {
    width: wide ? 740 : 340,
    height: wide ? 222 : 480,
    parts: [
      join(clients, http),
      ...apis.map((api) => join(http, api)),
      ...[...apis, ...workers].map((each) => join(each, tcp)),
      join(tcp, primary),
      ...standbys.map(replicate),
      box(clients, 'Clients'),
      box(http, 'HAProxy', { note: 'checks /readyz' }),
      ...apis.map((api) => box(api, 'API', { tone: 'own' })),
      ...workers.map((worker) => box(worker, 'Worker', { tone: 'own' })),
      box(tcp, 'HAProxy', { note: 'checks Patroni' }),
      box(primary, 'Primary', { note: 'PostgreSQL' }),
      ...standbys.map((standby) => box(standby, 'Standby')),
      label('synchronous', [middle(primary)[0], wide ? turn - 14 : turn + 4]),
    ],
  };
}

/** In the connector's order of preference; a test compares it. */
function drawFhirSignIn(width: 'wide' | 'narrow'): Drawing {
  const wide = width === 'wide';
  const questions = [
    ['Can the EMR’s administrator register the key set of your EMR app?', 'backend_services', 'nobody signs in again'],
    ['Does the EMR issue a client ID and a secret for services?', 'client_secret', 'nobody signs in again'],
    ['Has the EMR a sign-in page for people?', 'authorization_code', 'the person signs in there'],
  ] as const;
  const [questions_at, ways_at, row] = wide
    ? [{ x: 0, w: 330 }, { x: 430, w: 310 }, 88]
    : [{ x: 0, w: 152 }, { x: 190, w: 150 }, 122];
  const h = wide ? 58 : 92;
  const parts: Html[] = [];
  for (const [index, [question, name, note]] of questions.entries()) {
    const y = index * row;
    const [from, to]: Place[] = [
      { ...questions_at, y, h },
      { ...ways_at, y, h },
    ];
    if (!from || !to) continue;
    parts.push(box(from, question), box(to, name, { note, tone: 'good', mono: true }));
    parts.push(arrow([right(from), left(to)]), label('yes', [(right(from)[0] + left(to)[0]) / 2 - 3, y + h / 2 - 8]));
    parts.push(
      arrow([bottom(from), [bottom(from)[0], y + row]]),
      label('no', [bottom(from)[0] + 10, y + h + (row - h) / 2 + 3], 'start'),
    );
  }
  const last = { ...questions_at, y: questions.length * row, h: wide ? 58 : 76 };
  parts.push(box(last, 'bearer_token', { note: 'expires; a person enters another one', tone: 'bad', mono: true }));
  return { width: wide ? 740 : 340, height: last.y + last.h, parts };
}

/** 5 s, 30 min, 2 h. */
function formatTime(ms: number): string {
  const [size, unit] = ms >= 3_600_000 ? [3_600_000, 'h'] : ms >= 60_000 ? [60_000, 'min'] : [1_000, 's'];
  // A space that does not break.
  return `${Math.round(ms / size)}\u00a0${unit}`;
}

function formatElapsed(ms: number): string {
  if (ms === 0) return 'at once';
  const days = ms / 86_400_000;
  if (days >= 1) return `${days.toFixed(1)} days`;
  return ms >= 2 * 3_600_000 ? `${(ms / 3_600_000).toFixed(1)} h` : formatTime(ms);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
