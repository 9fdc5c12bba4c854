import { EntitySchema, type EntityClass } from '@mikro-orm/core';
import { entities } from '../../entities.ts';
import { composite, plain, type TenantKey } from './tenant-key.ts';
import { reviewKeys } from './review-keys.ts';
import { triggerKeys } from './trigger-keys.ts';

/**
 * Tables written through entities: a flush inserts new rows table by table, in an order that we cannot set, so their keys are checked at the commit. Those of
 * runs and streams are checked at once: their statements come in order, and a check at the end would lock the run's row after its stream's.
 */
const entityTables = new Set([
  'organization_settings',
  'workspaces',
  'users',
  'workspace_grants',
  'data_keys',
  'user_credentials',
  'totp_factors',
  'sessions',
  'refresh_tokens',
  'service_keys',
  'recovery_codes',
  'auth_challenges',
  'oauth_clients',
  'oauth_codes',
  'invitations',
  'impersonations',
  'purges',
  'secrets',
  'agents',
  'agent_revisions',
  'agent_refs',
  'tools',
  'tool_versions',
  'personas',
  'persona_versions',
  'toolkits',
  'toolkit_revisions',
  'mcp_connections',
  'mcp_authorizations',
  'tool_tests',
  'skills',
  'skill_versions',
  'attachments',
  'attachment_links',
  'schedules',
  'webhook_endpoints',
  'event_triggers',
  'channels',
  'review_playbooks',
  'review_playbook_revisions',
  'repo_bindings',
  'alert_rules',
  'knowledge_bases',
  'knowledge_base_counters',
  'knowledge_grants',
  'knowledge_sources',
  'knowledge_items',
  'knowledge_item_versions',
  'knowledge_relations',
  'knowledge_runs',
  'knowledge_findings',
  'knowledge_policies',
]);

/**
 * Tables with both columns that have no key on workspace and organization together: what outlives either, what the sweeper clears by itself, streams, which
 * refer to runs, and rows of knowledge items, which are written by the hundred thousand, so that each key costs.
 */
const withoutWorkspaceKey = new Set([
  'sessions',
  'stream_tokens',
  'audit_entries',
  'outbox',
  'idempotency_keys',
  'agent_refs',
  'usage_entries',
  'usage_rollups',
  'run_streams',
  'run_stream_scopes',
  'run_frame_chunks',
  'knowledge_items',
  'knowledge_item_versions',
  'knowledge_chunks',
  'knowledge_vectors',
  'knowledge_terms',
  'knowledge_relations',
  'knowledge_run_errors',
]);

/** Returns every other table that has both columns: a new one needs no line here. */
function workspaceTables(): string[] {
  const classes: readonly EntityClass<object>[] = entities;
  return classes.flatMap((entity) => {
    const { tableName, properties } = metadataOf(entity);
    const isInWorkspace = 'organizationId' in properties && 'workspaceId' in properties;
    return isInWorkspace && !withoutWorkspaceKey.has(tableName) ? [tableName] : [];
  });
}

/** Returns the metadata of an entity, before any ORM is started. */
function metadataOf(entity: EntityClass<object>) {
  const schema = EntitySchema.REGISTRY.get(entity);
  if (!schema) throw new Error(`${entity.name} is no entity`);
  return schema.meta;
}

const organizationTables = [
  'organization_settings',
  'workspaces',
  'users',
  'data_keys',
  'sessions',
  'service_keys',
  'oauth_clients',
  'invitations',
  'impersonations',
  'purges',
  'secrets',
  'agents',
  'tools',
  'usage_entries',
  'usage_rollups',
  'toolkits',
  'skills',
  'attachments',
  'schedules',
  'webhook_endpoints',
  'event_triggers',
  'channels',
  'review_playbooks',
  'review_playbook_revisions',
  'repo_bindings',
  'alert_rules',
  'alerts',
  'knowledge_bases',
  'knowledge_embedding_cache',
];

/**
 * The foreign keys of the schema, for migrations and the drift test. Policies do not apply to them, so a child names its parent together with the organization:
 * no row can refer to another tenant's. Where organization_id may be null, that key is not checked, and one on the id alone accompanies it. A reference that
 * may point at a platform row has a plain key. What must outlive its tenant (audit entries, outbox) has none, and frame chunks refer to streams, never to runs.
 */
export const tenantKeys: readonly TenantKey[] = [
  ...organizationTables.map((table) => plain(table, 'organization_id', 'organizations')),
  ...workspaceTables().map((table) => ({
    table,
    columns: ['workspace_id', 'organization_id'],
    references: 'workspaces',
    referenced: ['id', 'organization_id'],
  })),

  composite('workspace_grants', 'user_id', 'users'),
  plain('user_credentials', 'user_id', 'users'),
  plain('totp_factors', 'user_id', 'users'),
  plain('recovery_codes', 'user_id', 'users'),
  plain('auth_challenges', 'user_id', 'users'),
  plain('sessions', 'user_id', 'users'),
  { ...plain('refresh_tokens', 'session_id', 'sessions'), onDelete: 'cascade' },
  plain('service_keys', 'created_by_user_id', 'users'),
  plain('oauth_codes', 'user_id', 'users'),
  plain('invitations', 'invited_by_user_id', 'users'),
  plain('invitations', 'accepted_user_id', 'users'),
  plain('impersonations', 'operator_user_id', 'users'),
  plain('impersonations', 'target_user_id', 'users'),
  { ...composite('stream_tokens', 'run_id', 'runs'), onDelete: 'cascade' },

  plain('agents', 'created_by_user_id', 'users'),
  { table: 'agents', columns: ['active_revision_id', 'id'], references: 'agent_revisions', referenced: ['id', 'agent_id'] },
  plain('agent_revisions', 'agent_id', 'agents'),
  composite('agent_revisions', 'agent_id', 'agents'),
  plain('agent_refs', 'revision_id', 'agent_revisions'),
  plain('tool_versions', 'tool_id', 'tools'),
  composite('tool_versions', 'tool_id', 'tools'),
  plain('secrets', 'tool_id', 'tools'),
  composite('secrets', 'tool_id', 'tools'),
  plain('secrets', 'updated_by_user_id', 'users'),

  plain('conversations', 'agent_id', 'agents'),
  plain('runs', 'agent_id', 'agents'),
  { table: 'runs', columns: ['agent_revision_id', 'agent_id'], references: 'agent_revisions', referenced: ['id', 'agent_id'] },
  composite('runs', 'conversation_id', 'conversations'),
  composite('runs', 'root_run_id', 'runs'),
  composite('runs', 'parent_run_id', 'runs'),
  composite('runs', 'retry_of_run_id', 'runs'),
  composite('messages', 'run_id', 'runs'),
  composite('messages', 'conversation_id', 'conversations'),
  composite('run_steps', 'run_id', 'runs'),
  composite('tool_calls', 'run_id', 'runs'),
  plain('tool_calls', 'tool_id', 'tools'),
  composite('tool_outputs', 'run_id', 'runs'),

  plain('personas', 'agent_id', 'agents'),
  composite('personas', 'agent_id', 'agents'),
  plain('persona_versions', 'persona_id', 'personas'),
  plain('agent_refs', 'persona_id', 'personas'),
  { table: 'toolkits', columns: ['active_revision_id', 'id'], references: 'toolkit_revisions', referenced: ['id', 'toolkit_id'] },
  plain('toolkit_revisions', 'toolkit_id', 'toolkits'),
  composite('toolkit_revisions', 'toolkit_id', 'toolkits'),
  plain('mcp_connections', 'toolkit_id', 'toolkits'),
  plain('mcp_authorizations', 'connection_id', 'mcp_connections'),
  plain('tools', 'toolkit_id', 'toolkits'),
  composite('tools', 'toolkit_id', 'toolkits'),
  plain('tool_versions', 'toolkit_revision_id', 'toolkit_revisions'),
  plain('tool_tests', 'tool_id', 'tools'),
  plain('tool_leases', 'tool_id', 'tools'),
  plain('skills', 'owner_agent_id', 'agents'),
  plain('skills', 'owner_user_id', 'users'),
  plain('skills', 'superseded_by', 'skills'),
  plain('skill_versions', 'skill_id', 'skills'),
  composite('skill_versions', 'skill_id', 'skills'),
  composite('skill_uses', 'run_id', 'runs'),
  plain('skill_uses', 'skill_id', 'skills'),
  composite('attachment_links', 'attachment_id', 'attachments'),
  ...triggerKeys,
  ...reviewKeys,

  composite('approvals', 'run_id', 'runs'),
  composite('approvals', 'root_run_id', 'runs'),
  plain('approvals', 'tool_call_id', 'tool_calls'),
  composite('run_inputs', 'run_id', 'runs'),
  composite('feedback', 'run_id', 'runs'),
  plain('evaluation_runs', 'agent_id', 'agents'),
  plain('evaluation_runs', 'agent_revision_id', 'agent_revisions'),
  composite('evaluation_runs', 'baseline_id', 'evaluation_runs'),
  plain('evaluation_runs', 'created_by_user_id', 'users'),
  composite('evaluation_items', 'evaluation_run_id', 'evaluation_runs'),
  composite('evaluation_results', 'evaluation_run_id', 'evaluation_runs'),
  composite('evaluation_results', 'item_id', 'evaluation_items'),
  composite('evaluation_results', 'run_id', 'runs'),
  composite('evaluation_scores', 'result_id', 'evaluation_results'),
  plain('budget_holds', 'window_id', 'budget_windows'),
  plain('alert_rules', 'agent_id', 'agents'),
  composite('alert_states', 'rule_id', 'alert_rules'),
  composite('alerts', 'rule_id', 'alert_rules'),
  composite('alert_transitions', 'alert_id', 'alerts'),
  composite('alert_deliveries', 'rule_id', 'alert_rules'),
  composite('alert_deliveries', 'alert_id', 'alerts'),

  plain('knowledge_bases', 'owner_agent_id', 'agents'),
  plain('knowledge_bases', 'owner_persona_id', 'personas'),
  plain('knowledge_bases', 'predecessor_id', 'knowledge_bases'),
  ...['counters', 'grants', 'sources', 'items', 'runs', 'findings', 'policies'].flatMap((part) => inBase(part)),
  plain('knowledge_item_versions', 'item_id', 'knowledge_items'),
  plain('knowledge_run_errors', 'run_id', 'knowledge_runs'),
  { table: 'knowledge_chunks', columns: ['item_id', 'kb_id'], references: 'knowledge_items', referenced: ['id', 'kb_id'] },
  { table: 'knowledge_relations', columns: ['from_item_id', 'kb_id'], references: 'knowledge_items', referenced: ['id', 'kb_id'] },
  { table: 'knowledge_relations', columns: ['to_item_id', 'kb_id'], references: 'knowledge_items', referenced: ['id', 'kb_id'] },
  { ...plain('knowledge_vectors', 'chunk_id', 'knowledge_chunks'), onDelete: 'cascade' },
  {
    table: 'knowledge_vectors',
    columns: ['kb_id', 'embedding_model', 'embedding_dim'],
    references: 'knowledge_bases',
    referenced: ['id', 'embedding_model', 'embedding_dim'],
  },

  composite('run_streams', 'run_id', 'runs'),
  { ...plain('run_stream_scopes', 'run_id', 'run_streams', 'run_id'), onDelete: 'cascade' },
  { ...plain('run_frame_chunks', 'run_id', 'run_streams', 'run_id'), onDelete: 'cascade' },
];

/** Returns the name of the constraint. */
export function keyName({ table, columns }: TenantKey): string {
  return `${table}_${columns.map((column) => column.replace(/_id$/, '')).join('_')}_fkey`;
}

/** Whether the key is checked at the commit. */
export function isDeferred({ table }: TenantKey): boolean {
  return entityTables.has(table);
}

/** Returns the statement that adds a key. */
export function keySql(key: TenantKey): string {
  const { table, columns, references, referenced, onDelete } = key;
  const rule = `${onDelete ? ` on delete ${onDelete}` : ''}${isDeferred(key) ? ' deferrable initially deferred' : ''}`;
  return `alter table ${table} add constraint ${keyName(key)} foreign key (${columns.join(', ')}) references ${references}(${referenced.join(', ')})${rule}`;
}

/** A part of a knowledge base, which may be the platform's. */
function inBase(part: string): TenantKey[] {
  const table = part === 'counters' ? 'knowledge_base_counters' : `knowledge_${part}`;
  return [plain(table, 'kb_id', 'knowledge_bases'), composite(table, 'kb_id', 'knowledge_bases')];
}
