import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../harness/servers/mailServer.ts';
import { type AlertFixture, channelSettings, createFixture, storedAlerts } from './fixture.ts';

let fixture: AlertFixture;
let mail: MailServer;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  mail = await startMailServer();
});
afterEach(async () => {
  await mail.close();
  await fixture.reset();
});

const startProcess = (env: Record<string, string> = {}) =>
  fixture.startProcess({ ...channelSettings({ smtp_url: mail.url }), ...env });
const subjects = () => mail.received.map(({ subject }) => subject.replace('[Chartwire] ', ''));

describe('an alert', () => {
  test('is opened once, sent once a minute later, and its end is sent once', async () => {
    const { tick } = startProcess();
    await fixture.setLoginRequired();
    await tick('2026-06-01T12:00:00Z');
    await tick('2026-06-01T12:00:45Z');
    expect(subjects()).toStrictEqual([]);
    for (const at of ['12:01:00', '12:01:15', '13:00:00']) await tick(`2026-06-01T${at}Z`);
    expect(subjects()).toStrictEqual(['Warning: Account needs re-linking']);
    await fixture.setLoginRequired(false);
    for (const at of ['14:00:00', '14:01:00', '14:02:00']) await tick(`2026-06-01T${at}Z`);
    expect(subjects()).toStrictEqual(['Warning: Account needs re-linking', 'Resolved: Account needs re-linking']);
    expect(await storedAlerts(fixture.owner)).toStrictEqual([
      { code: 'account_login_required', open: false, notified: true },
    ]);
  });

  test('an alert that is gone within a minute is not sent', async () => {
    const { tick } = startProcess();
    await fixture.setLoginRequired();
    await tick('2026-06-01T12:00:00Z');
    await fixture.setLoginRequired(false);
    for (const at of ['12:00:30', '12:02:00', '12:04:00']) await tick(`2026-06-01T${at}Z`);
    expect(subjects()).toStrictEqual([]);
  });

  test('an alert that comes back is a new one', async () => {
    const { tick } = startProcess();
    for (const [at, required] of [
      ['12:00', true],
      ['12:02', false],
      ['12:05', true],
      ['12:07', true],
    ] as const) {
      await fixture.setLoginRequired(required);
      await tick(`2026-06-01T${at}:00Z`);
    }
    expect(await storedAlerts(fixture.owner)).toHaveLength(2);
  });

  test('is sent together with those that open within the same minute', async () => {
    const { tick } = startProcess();
    const accounts = [];
    for (let n = 2; n <= 11; n++) accounts.push(await fixture.addAccount(`user-${n}`));
    await fixture.setLoginRequired();
    await tick('2026-06-01T12:00:00Z');
    for (const { account_id } of accounts) await fixture.setLoginRequired(true, account_id);
    await fixture.setReviews(1);
    for (const at of ['12:00:30', '12:01:00', '12:02:00', '12:10:00']) await tick(`2026-06-01T${at}Z`);
    expect(subjects()).toStrictEqual(['Critical: 12 new alerts']);
    await fixture.owner`DELETE FROM accounts WHERE id = ANY (${accounts.map(({ account_id }) => account_id)})`;
  });

  test('is kept without a channel, and sent once there is one', async () => {
    await fixture.setLoginRequired();
    const silent = fixture.startProcess({});
    for (const at of ['12:00', '12:05']) await silent.tick(`2026-06-01T${at}:00Z`);
    expect(await storedAlerts(fixture.owner)).toMatchObject([{ open: true, notified: false }]);
    await startProcess().tick('2026-06-05T09:00:00Z');
    // The reminders of the days before are not sent in addition.
    await startProcess().tick('2026-06-05T09:02:00Z');
    expect(subjects()).toStrictEqual(['Warning: Account needs re-linking']);
  });

  test('an alert of a code that only a newer version knows is left to that version', async () => {
    await fixture.owner`INSERT INTO alerts (id, code, subject, summary, page, count, opened_at, last_seen_at)
      VALUES (gen_random_uuid(), 'from_the_future', 'x', 'x', '/', 1, '2026-06-01T10:00:00Z', '2026-06-01T10:00:00Z')`;
    await startProcess().tick('2026-06-01T12:00:00Z');
    expect(await storedAlerts(fixture.owner)).toStrictEqual([{ code: 'from_the_future', open: true, notified: false }]);
    expect(subjects()).toStrictEqual([]);
  });
});

describe('reminders', () => {
  test('follow after 1, 3 and 7 days, and one stands for several that were missed', async () => {
    const { tick } = startProcess();
    await fixture.setLoginRequired();
    for (const at of ['01T12:00', '01T12:01', '02T11:59', '02T12:01', '02T12:02', '03T12:00']) {
      await tick(`2026-06-${at}:00Z`);
    }
    expect(subjects()).toStrictEqual([
      'Warning: Account needs re-linking',
      'Reminder, warning: Account needs re-linking',
    ]);
    // No process ran on the third and the seventh day.
    for (const at of ['09T12:00', '09T12:01', '20T12:00']) await tick(`2026-06-${at}:00Z`);
    expect(subjects()).toHaveLength(3);
  });

  test('follow if more jobs need review, at most once an hour', async () => {
    const { tick } = startProcess();
    await fixture.setReviews(1);
    for (const at of ['12:00', '12:01']) await tick(`2026-06-01T${at}:00Z`);
    await fixture.setReviews(2);
    for (const at of ['12:02', '12:30', '13:02', '13:03', '15:00']) await tick(`2026-06-01T${at}:00Z`);
    expect(subjects()).toStrictEqual(['Critical: Jobs need review', 'Reminder, critical: Jobs need review']);
    expect(mail.received[1]?.text).toContain('3 jobs have an unknown outcome.');
  });
});

describe('quiet hours', () => {
  test('quiet hours let only critical alerts through; the rest follows in one message', async () => {
    const { tick } = startProcess({ ALERT_QUIET_HOURS: '22:00-07:00 Europe/Berlin' });
    const { account_id } = await fixture.addAccount('user-night');
    await fixture.setLoginRequired();
    await tick('2026-06-01T20:30:00Z');
    await fixture.setReviews(1);
    await tick('2026-06-01T20:31:00Z');
    await tick('2026-06-01T20:32:00Z');
    expect(subjects()).toStrictEqual(['Critical: Jobs need review']);
    await fixture.setLoginRequired(true, account_id);
    await tick('2026-06-01T23:00:00Z');
    await fixture.setLoginRequired(false);
    await tick('2026-06-02T04:59:00Z');
    expect(subjects()).toHaveLength(1);
    await tick('2026-06-02T05:00:00Z');
    await tick('2026-06-02T05:05:00Z');
    expect(subjects()).toStrictEqual(['Critical: Jobs need review', '2 new alerts']);
    // One of them was resolved in the meantime, and says so. Its end is not sent again.
    expect(mail.received[1]?.text).toContain('Resolved: Account needs re-linking');
    expect(mail.received[1]?.text).toContain('Warning: Account needs re-linking');
    await fixture.owner`DELETE FROM accounts WHERE id = ${account_id}`;
  });

  test.each([
    ['before clocks go forward', '2026-03-28T21:30:00Z', '2026-03-29T04:59:00Z', '2026-03-29T05:00:00Z'],
    ['before clocks go back', '2026-10-24T20:30:00Z', '2026-10-25T05:59:00Z', '2026-10-25T06:00:00Z'],
  ])('end at 07:00 local time in the night %s', async (_night, opened, last, first) => {
    const { tick } = startProcess({ ALERT_QUIET_HOURS: '22:00-07:00 Europe/Berlin' });
    await fixture.setLoginRequired();
    await tick(opened);
    await tick(last);
    expect(subjects()).toStrictEqual([]);
    await tick(first);
    expect(subjects()).toHaveLength(1);
  });

  test('quiet hours within one day end on the same day', async () => {
    const { tick } = startProcess({ ALERT_QUIET_HOURS: '12:00-13:00' });
    await fixture.setLoginRequired();
    await tick('2026-06-01T12:10:00Z');
    await tick('2026-06-01T12:59:00Z');
    expect(subjects()).toStrictEqual([]);
    await tick('2026-06-01T13:00:00Z');
    expect(subjects()).toHaveLength(1);
  });
});

describe('the daily summary', () => {
  const digest = { ALERT_DIGEST: '08:00 Europe/Berlin' };

  test('lists what was open at its time, once a day, also if two processes send it', async () => {
    const processes = [startProcess(digest), startProcess(digest)];
    await fixture.setLoginRequired();
    await processes[0]?.tick('2026-06-01T04:00:00Z');
    await processes[0]?.tick('2026-06-01T04:02:00Z');
    mail.received.length = 0;
    for (const at of ['05:59', '06:00', '06:01', '20:00']) {
      await Promise.all(processes.map(({ tick }) => tick(`2026-06-01T${at}:00Z`)));
    }
    expect(subjects()).toStrictEqual(['Daily summary: 1 open alert']);
  });

  test('is not sent if nothing was open then', async () => {
    const { tick } = startProcess(digest);
    await tick('2026-06-01T06:00:00Z');
    await fixture.setLoginRequired();
    for (const at of ['06:30', '06:32', '07:00']) await tick(`2026-06-01T${at}:00Z`);
    expect(subjects()).toStrictEqual(['Warning: Account needs re-linking']);
  });

  test('follows local time when clocks change', async () => {
    const { tick } = startProcess(digest);
    await fixture.setLoginRequired();
    await tick('2026-03-27T07:30:00Z');
    await tick('2026-03-27T07:32:00Z');
    mail.received.length = 0;
    for (const at of ['28T06:59', '28T07:00', '29T05:59', '29T06:00']) await tick(`2026-03-${at}:00Z`);
    // The reminder of the first day, then both summaries.
    expect(subjects().filter((subject) => subject.startsWith('Daily'))).toHaveLength(2);
  });
});

test('two processes that evaluate and send at once send one message', async () => {
  const processes = Array.from({ length: 4 }, () => startProcess());
  await fixture.setLoginRequired();
  await fixture.setReviews(1);
  for (const at of ['12:00:00', '12:01:00', '12:01:01', '12:01:02']) {
    await Promise.all(processes.map(({ evaluate }) => evaluate(`2026-06-01T${at}Z`)));
    await Promise.all(processes.map(({ send }) => send(`2026-06-01T${at}Z`)));
  }
  expect(subjects()).toStrictEqual(['Critical: 2 new alerts']);
  expect(await storedAlerts(fixture.owner)).toHaveLength(2);
});
