import { emitAlert, type EmittingRule, type Firing } from '../../../db/alerts/emit.ts';
import { AlertRule } from '../../../db/alerts/alert-rule.entity.ts';
import { newId } from '../../../db/ids.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type { Answer, World } from '../world.ts';

export const ruleBody = { name: 'Spend of an hour', kind: 'spend', operator: 'gt', threshold: '25' };

/** Sets a secret of the workspace. */
export async function putSecret(
  world: World,
  tenant: TestTenant,
  name: string,
  value = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
): Promise<void> {
  const body = { value, scope: 'workspace', workspace_id: tenant.workspaceId };
  const put = await world.call(tenant.tokens.admin, 'PUT', `/secrets/${name}`, { body });
  if (put.status > 201) throw new Error(`putSecret: ${put.status} ${JSON.stringify(put.body)}`);
}

export const createRule = (world: World, token: string, more: object = {}): Promise<Answer> =>
  world.call(token, 'POST', '/alert-rules', { body: { ...ruleBody, ...more } });

export const sqlOf =
  (world: World) =>
  <T>(text: string, params: readonly unknown[] = []) =>
    sweep(world.api.db, (em) => rows<T>(em, text, params));

/** Opens an alert of a rule, as its tick would. Gives its id. */
export async function openAlert(world: World, { organizationId }: TestTenant, ruleId: string, more: Partial<Firing> = {}): Promise<string> {
  const { value } = await transact(
    world.api.db,
    { tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId() },
    async (tx) => {
      const rule: EmittingRule = await tx.em.findOneOrFail(AlertRule, { id: ruleId });
      const firing: Firing = {
        event: 'firing',
        status: 'firing',
        fingerprint: 'all',
        windowKey: newId(),
        labels: {},
        severity: 'critical',
        title: 'Too much',
        value: '30',
        threshold: '25',
        ...more,
      };
      return emitAlert(tx, rule, firing, new Date());
    },
  );
  return value ?? '';
}
