import { row, rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, type Answer, type World } from '../world.ts';

/** A schedule of a tenant of its own. */
export interface ScheduleScene {
  readonly tenant: TestTenant;
  readonly agentId: string;
  readonly id: string;
  readonly path: string;
  /** Its view as it was made. */
  readonly view: Answer['body'];
}

export async function makeSchedule(
  world: World,
  more: Readonly<Record<string, unknown>> = {},
  given: TestTenant | null = null,
): Promise<ScheduleScene> {
  const tenant = given ?? (await world.tenant());
  const agentId = String(more['agent_id'] ?? (await makeAgent(world, tenant.tokens.admin)).id);
  const cadence = ['cron', 'every_seconds', 'run_at'].some((name) => name in more) ? {} : { every_seconds: 3_600 };
  const made = await world.call(tenant.tokens.member, 'POST', '/schedules', {
    body: { agent_id: agentId, name: 'Report', prompt_template: 'It is {{ schedule.nominal_at }}', ...cadence, ...more },
  });
  if (made.status !== 201) throw new Error(`createSchedule: ${made.status} ${JSON.stringify(made.body)}`);
  return { tenant, agentId, id: made.body.id, path: `/schedules/${made.body.id}`, view: made.body };
}

/** Sweeper's statement: past every tenant. */
export function sqlOf(world: World) {
  return <T>(text: string, params: readonly unknown[] = []): Promise<T[]> => sweep(world.api.db, (em) => rows<T>(em, text, params));
}

/** Ends a run as its workflow would. */
export async function oneOf<T>(world: World, text: string, params: readonly unknown[] = []): Promise<T | null> {
  return sweep(world.api.db, (em) => row<T>(em, text, params));
}
