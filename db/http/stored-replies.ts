import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { fail } from '../../workflows/contracts/failure.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { Binding } from '../envelope.ts';

/** Tables of the rows that the paths of operations with a key name, by parameter. */
export const tablesOfPaths = {
  agent_id: 'agents',
  channel_id: 'channels',
  delivery_id: 'webhook_deliveries',
  endpoint_id: 'webhook_endpoints',
  schedule_id: 'schedules',
  item_id: 'knowledge_items',
  kb_id: 'knowledge_bases',
  playbook_id: 'review_playbooks',
  rule_id: 'alert_rules',
  run_id: 'runs',
  source_id: 'knowledge_sources',
  tool_id: 'tools',
  toolkit_id: 'toolkits',
} as const satisfies Readonly<Record<string, keyof Tables>>;

/** Returns the workspaces of the rows that a path names. Throws 404 for a row that the caller doesn't see, as for the row itself. */
export async function placesOfPath(em: SqlEntityManager, params: unknown): Promise<Set<string>> {
  const places = new Set<string>();
  for (const [name, id] of Object.entries(params ?? {})) {
    if (!namesRow(name)) continue;
    const found = await row(em, query.selectFrom(tablesOfPaths[name]).select('workspaceId').where('id', '=', String(id)));
    if (!found) throw fail('not_found');
    if (found.workspaceId !== null) places.add(found.workspaceId);
  }
  return places;
}

function namesRow(parameter: string): parameter is keyof typeof tablesOfPaths {
  return Object.hasOwn(tablesOfPaths, parameter);
}

const heldRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query.selectFrom('runs as r').select('r.id').where('r.id', '=', runId).where('r.deletedAt', 'is', null).forShare(),
);

/** Whether the run that a reply shows exists, and locks it until the end of the transaction: a later purge then finds the reply. */
export async function holdShownRun(em: SqlEntityManager, runId: string): Promise<boolean> {
  return (await row(em, heldRun({ runId }))) !== null;
}

/** Binds an encrypted reply to its row: moved to another, it can't be decrypted. */
export function storedReplyBinding(organizationId: string | null, id: string): Binding {
  return { organizationId, aad: ['idempotency_keys', id] };
}
