import { type FourEyesAction, four_eyes_actions, four_eyes_names, needsSecondPerson } from '../../catalog/fourEyes.ts';
import { type ClientRole, includesRole, type OperatorRole } from '../../catalog/roles.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Context } from '../context.ts';
import { type Access, clientsWith, isLowered } from './operatorAccess.ts';
import { readOperatorAccess } from './operators.ts';

/** The access that an owner gives: to all clients (null), or to some by their public ids. */
type GivenAccess = { role: OperatorRole; clients: readonly { client_id: string; role: ClientRole }[] | null };

/** Whether an operator can approve an action, of a client or of the installation. */
export function mayApprove(access: Access, action: FourEyesAction, client_id: string | undefined): boolean {
  const scope = clientsWith(access, four_eyes_actions[action].role);
  return scope === 'all' || (client_id !== undefined && scope.includes(client_id));
}

/** What an owner changes of an operator. */
type AccessChange = {
  role?: OperatorRole | undefined;
  clients?: GivenAccess['clients'] | undefined;
  disabled?: boolean | undefined;
  sso_link?: boolean | undefined;
};

/** Whether someone with this access could approve anything that needs a second person. */
export function couldApprove({ four_eyes }: Pick<Config, 'four_eyes'>, access: GivenAccess): boolean {
  return canApprove(four_eyes, toAccess(access));
}

/**
 * Whether a change makes someone who can approve out of an operator who could not, or gives someone else the sign-in of
 * one who can: by enabling the operator, or by letting single sign-on take the operator over.
 */
export async function makesApprover(
  { config, db }: Pick<Context, 'config' | 'db'>,
  operator_id: string,
  change: AccessChange,
): Promise<boolean> {
  const stored = await readOperatorAccess(db.system, operator_id);
  if (!stored) return false;
  const { disabled, access } = stored;
  const before = {
    ...access,
    clients: access.clients.map(({ client_id, role }) => ({ id: client_id, client_id, role })),
  };
  const role = change.role ?? before.role;
  const clients = change.clients === undefined && !before.all_clients ? before.clients : (change.clients ?? null);
  const after = toAccess({ role, clients: role === 'owner' ? null : clients });
  if (!canApprove(config.four_eyes, after)) return false;
  return (disabled && change.disabled === false) || change.sso_link === true || isLowered(after, before);
}

/** Whether an operator can approve, or could if enabled: a new password for the operator gives that to whoever sees it. */
export async function isApprover(
  { config, db }: Pick<Context, 'config' | 'db'>,
  operator_id: string,
): Promise<boolean> {
  const stored = await readOperatorAccess(db.system, operator_id);
  return stored !== undefined && canApprove(config.four_eyes, stored.access);
}

function toAccess({ role, clients }: GivenAccess): Access {
  const all_clients = clients === null;
  return { role, all_clients, clients: (clients ?? []).map((each) => ({ id: each.client_id, ...each })) };
}

function canApprove(four_eyes: Config['four_eyes'], access: Access): boolean {
  const needed = four_eyes_names.filter((action) => needsSecondPerson(four_eyes, action));
  return needed.some((action) => {
    const { role } = four_eyes_actions[action];
    // Only owners with all clients have the role.
    if (role === 'owner') return access.all_clients && includesRole(access.role, role);
    return clientsWith(access, role).length > 0;
  });
}
