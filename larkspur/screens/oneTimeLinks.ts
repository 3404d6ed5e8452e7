import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { listLogins } from '../practice/staff.ts';
import { hashToken, newToken } from '../signin/credentials.ts';
import { startSession } from '../signin/sessions.ts';
import { type ApiEntry, listEntries } from './apiEntries.ts';
import { chartPath, type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';
import { frameFor, sendPage, setSessionCookie } from './user.ts';

const LIFETIME_MS = 2 * 60_000;

/**
 * Creates a link that signs in as the first staff member, once, and opens what was written with these references: the
 * chart, the schedule or the claim. Without such an entry, it opens the chart with this MRN. Returns the link's path.
 */
export async function createOneTimeLink(
  { sql, now }: Context,
  { externalRefs, mrn }: { externalRefs: string[]; mrn: string | undefined },
): Promise<string> {
  const path = await findPath(sql, await listEntries(sql, externalRefs), mrn);
  const [login] = await listLogins(sql);
  if (!login) throw new EmrError('NOT_FOUND', 'No staff member can sign in.');
  const token = newToken();
  const at = now();
  await sql`delete from one_time_links where expires_at < ${at}`;
  await sql`insert into one_time_links ${sql.values({
    ...{ tokenHash: hashToken(token), staffId: login.staffId, path },
    expiresAt: new Date(at.getTime() + LIFETIME_MS),
  })}`;
  return `${LINKS}/${token}`;
}

const LINKS = '/open';

export function serveOneTimeLinks(app: FastifyInstance, context: Context): void {
  const { sql, now } = context;
  // Without HEAD, which would use the link up.
  app.get<{ Params: { token: string } }>(
    `${LINKS}/:token`,
    { exposeHeadRoute: false },
    async ({ params: { token } }, reply) => {
      const frame = await frameFor(context);
      const [link] = await sql<{ staffId: string; path: string }[]>`
      delete from one_time_links where token_hash = ${hashToken(token)} and expires_at > ${now()}
      returning staff_id, path`;
      if (!link) return sendPage(reply, usedPage(frame), 410);
      const session = await startSession(sql, link.staffId, now());
      setSessionCookie(reply, session.token);
      // Not a redirect: browsers send a SameSite=Strict cookie only with requests that this site's own page starts.
      reply.header('refresh', `0; url=${link.path}`);
      return sendPage(reply, openingPage(frame, link.path));
    },
  );
}

/** What comes with the entry that a job is about: opened only if there is nothing else. */
const SECONDARY = ['pharmacy', 'guarantor'];

async function findPath(sql: Query, entries: ApiEntry[], mrn: string | undefined): Promise<string> {
  const entry = entries.find(({ kind }) => !SECONDARY.includes(kind)) ?? entries[0];
  if (entry?.kind === 'claim') return `/claims/${encodeURIComponent(entry.recordId)}`;
  if (entry?.kind === 'appointment') {
    const [booked] = await sql<{ day: string }[]>`
      select to_char(starts_at, 'YYYY-MM-DD') as day from appointments where appointment_id = ${entry.recordId}`;
    if (booked) return `/schedule?date=${booked.day}#${entry.anchor}`;
  }
  const chartMrn = entry?.patientMrn ?? mrn ?? null;
  const [chart] = await sql<{ patientId: string }[]>`select patient_id from patients where mrn = ${chartMrn}`;
  if (!chart) throw new EmrError('NOT_FOUND', 'No such entry and no chart with this MRN.');
  return `${chartPath(chart.patientId)}${entry ? `#${entry.anchor}` : ''}`;
}

function openingPage(frame: Frame, path: string): Html {
  return page(
    frame,
    'Opening',
    html`<section class="card narrow"><h1>Signed in</h1><p><a href="${path}">Continue</a></p></section>`,
  );
}

function usedPage(frame: Frame): Html {
  return page(
    frame,
    'Link expired',
    html`<section class="card narrow">
<h1>This link has expired</h1>
<p>It signs in once, within two minutes. Open it again from Chartwire, or <a href="/">sign in</a>.</p>
</section>`,
  );
}
