import type { Config } from '../../catalog/settings/config.ts';
import { webhookRules } from '../../platform/security/addresses.ts';
import { createOutbound } from '../../platform/security/outbound.ts';
import { listOpenAlerts } from '../../product/alerts/alerts.ts';
import { lookUpAlert } from '../../product/alerts/catalogue.ts';
import { sendTest } from '../../product/alerts/channels.ts';
import { withAudit } from './audit.ts';
import { type JsonOption, printJson, printLine, printTable } from './output.ts';
import { formatTime, styleState, zoneName } from './terminal.ts';

/** Lists the open alerts. Works whether or not the service is running; the service opens and resolves them. */
export async function listAlertsCommand(config: Config, { json }: JsonOption): Promise<void> {
  const alerts = await withAudit(config, (db) => listOpenAlerts(db.system));
  const described = alerts.map(({ id, code, client_id, summary, opened_at }) => {
    const { title, severity } = lookUpAlert(code);
    return { id, code, severity, title, client_id, summary, opened_at };
  });
  if (json) return printJson({ alerts: described });
  if (described.length === 0) return printLine('No open alerts.');
  const rows = described.map(({ severity, title, summary, opened_at }) => [
    styleState(severity),
    title,
    formatTime(opened_at),
    summary,
  ]);
  printTable(['severity', 'alert', `since (${zoneName()})`, 'summary'], rows);
}

/** Sends a test message through every channel of the settings. Exit code 1 if one of them fails, or if there is none. */
export async function testAlertsCommand(config: Config, { json }: JsonOption): Promise<void> {
  const webhook_outbound = createOutbound(webhookRules(config));
  try {
    const results = await sendTest({ config, base_url: config.base_url, webhook_outbound });
    if (results.length === 0 || results.some(({ sent }) => !sent)) process.exitCode = 1;
    if (json) return printJson({ results });
    if (results.length === 0) printLine('No channel is configured. Set ALERT_SMTP_URL or ALERT_WEBHOOK_URL.');
    for (const { channel, target, sent, problem } of results) {
      printLine(`${channel}: ${sent ? `sent to ${target}` : 'not sent'}.${problem === null ? '' : ` ${problem}`}`);
    }
  } finally {
    await webhook_outbound.close();
  }
}
