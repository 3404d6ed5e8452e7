import { alert_codes, lookUpAlert } from '../../src/product/alerts/catalogue.ts';
import { code, page, table } from './markdown.ts';

export function alertsPage(): string {
  const rows = alert_codes.map((name) => {
    const { title, severity, cause, remedy, page: opens } = lookUpAlert(name);
    return [code(name), title, severity, cause, remedy, opens];
  });
  return page('Alert codes', [
    'Problems that operators are notified about; the [guide](../guides/alerts.md) explains how. Critical alerts are also sent during quiet hours. Codes never change. New ones may be added.',
    table(['Code', 'Title', 'Severity', 'Cause', 'What to do', 'Opens'], rows),
  ]);
}
