import type { AlertTarget } from '../../db/alerts/alert-target.ts';
import { readersAmong } from '../../db/alerts/alert-readers.ts';
import { namesWithValue } from '../../db/secrets/secret-names.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { refusalOfUrl, type EgressPolicy } from '../../ports/egress/url.ts';
import { fail, type Violation } from '../../workflows/contracts/failure.ts';

/** The organization or workspace of a rule. */
interface RulePlace {
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/**
 * Throws 422 with all problems of a rule's targets: `reference` for a user who is not active or does not see the rule's organization or workspace, and for a
 * secret that has no value there; `egress` for a webhook that the guard would refuse.
 */
export async function refuseTargets(
  tx: TenantTransaction,
  { targets, place, policy }: { readonly targets: readonly AlertTarget[]; readonly place: RulePlace; readonly policy: EgressPolicy },
): Promise<void> {
  const userIds = targets.flatMap((target) => (target.kind === 'user' ? [target.user_id] : []));
  const names = targets.flatMap((target) => ('secret_name' in target ? [target.secret_name] : []));
  const readers = userIds.length === 0 ? [] : await readersAmong(tx, place, userIds);
  const known = await namesWithValue(tx, { names, row: { scope: place.workspaceId === null ? 'organization' : 'workspace', ...place } });
  const users = new Set(readers.map(({ id }) => id));

  const errors = targets.flatMap((target, at) => faultsOf(target, { at, users, secrets: known, policy }));
  if (errors.length > 0) throw fail('validation_failed', { errors });
}

interface Known {
  readonly at: number;
  readonly users: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  readonly policy: EgressPolicy;
}

function faultsOf(target: AlertTarget, { at, users, secrets, policy }: Known): Violation[] {
  const fault = (field: string, rule: string, message: string): Violation => ({
    in: 'body',
    pointer: `/targets/${at}/${field}`,
    name: null,
    rule,
    message,
  });
  const found: Violation[] = [];
  if (target.kind === 'user' && !users.has(target.user_id))
    found.push(fault('user_id', 'reference', 'does not refer to an active user who can see the scope of the rule'));
  if ('secret_name' in target && !secrets.has(target.secret_name))
    found.push(fault('secret_name', 'reference', 'does not refer to a secret that has a value in the scope of the rule'));
  const refusal = target.kind === 'webhook' ? refusalOfUrl(target.url, policy) : null;
  if (refusal !== null) found.push(fault('url', 'egress', `The URL is not allowed: ${refusal}`));
  return found;
}
