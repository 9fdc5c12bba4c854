import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { overrides, type Aimed } from './overrides.ts';
import { pathParametersOf, pathWith, sampleBody, type IdsByKind } from './requests.ts';
import type { Ask, Stage } from './stage.ts';
import { makeUser, type Actor, type Ground } from './world/actors.ts';
import type { Place } from './world/places.ts';
import { makeWhole } from './world/world.ts';

/** The table whose row a parameter names, and the column by which it does. */
export interface Target {
  readonly parameter: string;
  readonly table: string;
  readonly column: string;
}

const tablesByKind: Readonly<Record<string, string>> = {
  Organization: 'organizations',
  Workspace: 'workspaces',
  User: 'users',
  Session: 'sessions',
  ServiceKey: 'service_keys',
  Agent: 'agents',
  AgentRevision: 'agent_revisions',
  Tool: 'tools',
  Attachment: 'attachments',
  Persona: 'personas',
  ToolkitRevision: 'toolkit_revisions',
  Toolkit: 'toolkits',
  Skill: 'skills',
  KnowledgeBase: 'knowledge_bases',
  KnowledgeGrant: 'knowledge_grants',
  KnowledgeItem: 'knowledge_items',
  KnowledgeRelation: 'knowledge_relations',
  KnowledgeSource: 'knowledge_sources',
  KnowledgeRun: 'knowledge_runs',
  KnowledgeFinding: 'knowledge_findings',
  Run: 'runs',
  Conversation: 'conversations',
  Message: 'messages',
  ToolCall: 'tool_calls',
  Schedule: 'schedules',
  WebhookEndpoint: 'webhook_endpoints',
  WebhookDelivery: 'webhook_deliveries',
  EventTrigger: 'event_triggers',
  Event: 'events',
  Channel: 'channels',
  Evaluation: 'evaluation_runs',
  RepoBinding: 'repo_bindings',
  Playbook: 'review_playbooks',
  PlaybookRevision: 'review_playbook_revisions',
  AlertRule: 'alert_rules',
  Alert: 'alerts',
  Impersonation: 'impersonations',
  Invitation: 'invitations',
  Purge: 'purges',
  Secret: 'secrets',
  AuditEntry: 'audit_entries',
  OauthClient: 'oauth_clients',
};

/** Where a schema says no kind, the parameter's own name does. */
const tablesByName: Readonly<Record<string, { table: string; column: string }>> = {
  invitation_id: { table: 'invitations', column: 'id' },
  entry_id: { table: 'audit_entries', column: 'id' },
  impersonation_id: { table: 'impersonations', column: 'id' },
  price_id: { table: 'model_prices', column: 'id' },
  client_id: { table: 'oauth_clients', column: 'client_id' },
  name: { table: 'secrets', column: 'name' },
};

/** What the path of an operation names, in its order; parameters that name no row are left out. */
export function targetsOf(operation: RegisteredOperation): Target[] {
  return pathParametersOf(operation).flatMap(({ name, kind }) => {
    const table = kind === null || kind === 'Other' ? undefined : tablesByKind[kind];
    if (table) return [{ parameter: name, table, column: 'id' }];
    const named = tablesByName[name];
    if (!named && kind !== null)
      throw new Error(`${operation.operationId}: give the kind ${kind} of {${name}} a table in test/access/aim.ts`);
    return named ? [{ parameter: name, ...named, column: kind === null ? named.column : 'id' }] : [];
  });
}

/** Ids of rows in a place or around it, by kind. */
export function idsIn(stage: Stage, place: Place): IdsByKind {
  return (kind) => {
    if (kind === 'Organization') return place.organizationId;
    if (kind === 'Workspace' && place.workspaceId) return place.workspaceId;
    const table = tablesByKind[kind];
    const row = table ? stage.world.rows.first(table, place) : null;
    return row ? String(row['id']) : null;
  };
}

/** Rows that stand for the parameters of a path, all in one place. */
export function standingParams(stage: Stage, operation: RegisteredOperation, place: Place): Record<string, string> {
  return Object.fromEntries(
    targetsOf(operation).map(({ parameter, table, column }) => [
      parameter,
      String(columnOf(stage, place, { table, column }) ?? crypto.randomUUID()),
    ]),
  );
}

function columnOf(stage: Stage, place: Place, { table, column }: { table: string; column: string }): unknown {
  if (table === 'organizations') return place.organizationId;
  if (table === 'workspaces') return place.workspaceId ?? stage.world.rows.first(table, place)?.['id'];
  return stage.world.rows.first(table, place)?.[column];
}

/** Rows of their own for the parameters of a path, the later ones hanging on the earlier. */
export async function freshParams(
  stage: Stage,
  operation: RegisteredOperation,
  { actor, ground }: { actor: Actor; ground: Ground },
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  let parent: { table: string; id: string } | null = null;
  for (const { parameter, table, column } of targetsOf(operation)) {
    if (table === 'organizations' || table === 'workspaces') {
      values[parameter] = String(columnOf(stage, ground.home, { table, column: 'id' }));
      continue;
    }
    const id = await makeTarget(stage, { table, parent, actor, ground });
    const made = stage.world.rows.find(table, id);
    values[parameter] = String(made?.[column] ?? id);
    parent = { table, id };
  }
  return values;
}

async function makeTarget(
  stage: Stage,
  { table, parent, actor, ground }: { table: string; parent: { table: string; id: string } | null; actor: Actor; ground: Ground },
): Promise<string> {
  const { rows } = stage.world;
  if (table === 'sessions' && actor.userId) {
    const { organizationId, workspaceId } = actor.kind === 'operator' ? { organizationId: null, workspaceId: null } : actor.home;
    return String(
      (await rows.make(table, actor.home, { user_id: actor.userId, organization_id: organizationId, workspace_id: workspaceId }))['id'],
    );
  }
  if (table === 'model_prices') return makePrice(stage);
  if (table === 'users') return makeUser(rows, { place: ground.home, role: 'viewer' });
  const given = parent
    ? { [`${parent.table.replace(/s$/, '')}_id`]: parent.id, ...(table === 'agent_revisions' ? { number: 2 } : {}) }
    : {};
  const id = await makeWhole(rows, { table, place: ground.home, given });
  if (table === 'knowledge_bases') await rows.make('knowledge_base_counters', ground.home, { kb_id: id });
  return id;
}

/** Prices are of no tenant; one that has not begun may be deleted. */
async function makePrice({ world }: Stage): Promise<string> {
  const id = crypto.randomUUID();
  const sql = `insert into model_prices (id, model, bucket, unit, price, currency, effective_from)
    values ($1::uuid, $1::text, 'call', 'call', 1, 'USD', now() + interval '1 day')`;
  await world.rows.query(sql, [id]);
  return id;
}

/** A request that should succeed for whoever has the right: own rows in the path, a valid body. `isFresh` makes rows that may be used up. */
export async function aim(
  stage: Stage,
  operation: RegisteredOperation,
  { actor, ground, isFresh }: { actor: Actor; ground: Ground; isFresh: boolean },
): Promise<Ask> {
  const params =
    isFresh || targetsOf(operation).some(({ table }) => table === 'sessions')
      ? await freshParams(stage, operation, { actor, ground })
      : standingParams(stage, operation, ground.home);
  // What a body names lies where the actor is at home, else it would name what is foreign.
  const own =
    actor.sight === 'everything' || actor.sight === 'organization'
      ? ground.home
      : actor.sight === 'foreign'
        ? ground.foreignHome
        : actor.home;
  const aimed: Aimed = {
    params: { resource_path: 'mcp', ...params },
    body: sampleBody(operation, idsIn(stage, own)),
    query: {},
    headers: {},
  };
  const changed = await overrides[operation.operationId]?.({ stage, actor, ground, own, aimed });
  const { params: values, body, query, headers } = { ...aimed, ...changed };
  const search = new URLSearchParams(query).toString();
  return { url: pathWith(operation, values) + (search ? `?${search}` : ''), ...(body === undefined ? {} : { body }), headers };
}

/** A ground on which an operation may do its worst. */
export async function groundFor(stage: Stage, operation: RegisteredOperation): Promise<Ground> {
  const tables = targetsOf(operation).map(({ table }) => table);
  if (operation.method === 'GET') return stage.world.ground;
  if (tables.includes('organizations')) return stage.world.freshGround('organization');
  return tables.includes('workspaces') ? stage.world.freshGround('workspace') : stage.world.ground;
}
