import type { Connector } from '../../emr/connector.ts';
import { checkUrl, emrRules, syntaxRefusal } from '../../platform/security/addresses.ts';
import type { Context } from '../context.ts';

/** The address of an EMR as it is stored, or the rule that it breaks, as the rest of a sentence. */
export function readEmrAddress(
  { config }: Pick<Context, 'config'>,
  connector: Connector,
  domain: string,
): { address: string } | { rule: string } {
  const checked = checkUrl(withScheme(domain), emrRules(config));
  if ('refused' in checked) return { rule: checked.refused };
  const rule = connector.refuseAddress(checked);
  return rule === undefined ? { address: normalized(checked) } : { rule };
}

/** The same for an address that is only compared with a stored one. */
export function normalizeEmrAddress(domain: string): { address: string } | { rule: string } {
  const text = withScheme(domain);
  const rule = syntaxRefusal(text);
  return rule === undefined ? { address: normalized(new URL(text)) } : { rule };
}

/** Otherwise as typed: the checks must see what the URL parser would silently change. */
function withScheme(domain: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(domain) ? domain : `https://${domain}`;
}

/** As stored: without trailing slashes. */
function normalized(url: URL): string {
  return url.href.replace(/\/+$/, '');
}
