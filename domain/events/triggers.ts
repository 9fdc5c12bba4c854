import { EventTrigger } from '../../db/events/event-trigger.entity.ts';
import { countTriggers } from '../../db/events/triggers.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { runsInWorkspace } from '../../db/agents/agents.ts';
import { dropWaiting } from '../../db/webhooks/groups.ts';
import type { HookTexts } from '../../db/webhooks/hooks.ts';
import type { Coalescing } from '../../db/webhooks/webhook-endpoint.entity.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { refuseCoalescing, refuseInputTemplate, refuseTemplates } from '../webhooks/endpoint-rules.ts';
import { refuseFilter } from './filter.ts';
import { refuseKindGlob } from '../triggers/kinds.ts';

/** The most event triggers of a workspace. */
export const maxTriggers = 200;

/** The fields of an event trigger that a caller sets. */
export interface TriggerFields extends HookTexts {
  readonly name: string;
  readonly agentId: string;
  /** Kind of the trigger's events, or a glob of kinds. */
  readonly eventKind: string;
  readonly filter: Record<string, unknown> | null;
  /** Null: each event is a run. */
  readonly coalescing: Coalescing | null;
  readonly maxDepth: number;
  readonly isActive: boolean;
}

/** What the rules of triggers need from the deployment: the template renderer of the trigger's organization. */
export interface TriggerDeps {
  readonly templates: Pick<Templates, 'firstFault'>;
}

/** The values of a new trigger. */
export interface NewTrigger extends TriggerFields {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly createdByUserId: string | null;
}

/**
 * Creates an event trigger and returns its id. Throws 422 for a kind, filter or template that can't be parsed and an agent that does not run there, 409
 * `limit_reached` in a workspace that has 200.
 */
export async function makeTrigger(tx: TenantTransaction, deps: TriggerDeps, made: NewTrigger): Promise<string> {
  await refuseFields(deps, made);
  await refuseAgent(tx, made);
  if ((await countTriggers(tx, made.workspaceId)) >= maxTriggers)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `A workspace can have at most ${maxTriggers} event triggers.` });

  const id = newId();
  tx.em.create(EventTrigger, { id, ...made, deletedAt: null });
  await tx.em.flush();
  return id;
}

/** Changes a locked trigger; an omitted field stays as it is. Switching it off drops its waiting events. Throws 422 as `makeTrigger` does. */
export async function changeTrigger(
  tx: TenantTransaction,
  deps: TriggerDeps,
  { trigger, change }: { readonly trigger: EventTrigger; readonly change: Partial<TriggerFields> },
): Promise<void> {
  const next = { ...fieldsOf(trigger), ...change };
  await refuseFields(deps, next);
  if (next.agentId !== trigger.agentId) await refuseAgent(tx, { ...trigger, agentId: next.agentId });
  Object.assign(trigger, change);
  await tx.em.flush();
  if (!next.isActive) await dropWaiting(tx, { table: 'event_matches', ownerId: trigger.id });
}

/** Deletes a locked trigger as of `at`: it starts nothing after the commit, and its waiting events are dropped. */
export async function deleteTrigger(tx: TenantTransaction, trigger: EventTrigger, at: Date): Promise<void> {
  trigger.deletedAt = at;
  await tx.em.flush();
  await dropWaiting(tx, { table: 'event_matches', ownerId: trigger.id });
}

async function refuseFields({ templates }: TriggerDeps, fields: TriggerFields): Promise<void> {
  refuseKindGlob(fields.eventKind);
  refuseFilter(fields.filter);
  refuseInputTemplate(fields.inputTemplate);
  refuseCoalescing(fields.coalescing);
  await refuseTemplates(templates, fields);
}

async function refuseAgent(
  tx: TenantTransaction,
  { agentId, organizationId, workspaceId }: Pick<NewTrigger, 'agentId' | 'organizationId' | 'workspaceId'>,
): Promise<void> {
  if (!(await runsInWorkspace(tx, agentId, { organizationId, workspaceId })))
    throw invalid('/agent_id', 'reference', 'The agent does not exist in this workspace.', { kind: 'agent' });
}

function fieldsOf(trigger: EventTrigger): TriggerFields {
  const { name, agentId, eventKind, filter, coalescing, maxDepth, isActive } = trigger;
  const { promptTemplate, inputTemplate, sessionKeyTemplate, personaSlugTemplate, subjectTemplate } = trigger;
  const texts = { promptTemplate, inputTemplate, sessionKeyTemplate, personaSlugTemplate, subjectTemplate };
  return { name, agentId, eventKind, filter, coalescing, maxDepth, isActive, ...texts };
}
