import { newId } from '../../db/ids.ts';
import { change, rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { Script } from '../fakes/model-script.ts';
import { scripted } from '../support/scenario.ts';
import { readStream, type ReceivedFrame } from '../support/stream-client.ts';
import type { Stack } from '../support/stack.ts';

/** A base of the stack's workspace, written as rows. */
export interface MadeBase {
  readonly id: string;
  readonly slug: string;
}

/** What of a base differs from an open one of documents without vectors. */
export interface BaseColumns {
  readonly kind?: 'documents' | 'memory';
  readonly model?: 'none' | 'hash-v1';
  readonly isPrivate?: boolean;
  readonly isFrozen?: boolean;
  readonly workspaceId?: string | null;
}

/** Writes a base with its counters. */
export async function makeBase(stack: Stack, columns: BaseColumns = {}): Promise<MadeBase> {
  const { kind = 'documents', model = 'none', isPrivate = false, isFrozen = false } = columns;
  const base = { id: newId(), slug: `base-${crypto.randomUUID().slice(0, 8)}` };
  const { organizationId } = stack.tenant;
  const workspaceId = columns.workspaceId === undefined ? stack.tenant.workspaceId : columns.workspaceId;
  await execute(
    stack,
    `insert into knowledge_bases (id, scope, organization_id, workspace_id, slug, name, kind, embedding_model, embedding_dim, is_private, is_frozen, activated_at)
     values (?, ?, ?, ?, ?, 'Base', ?, ?, ?, ?, ?, now())`,
    [
      base.id,
      workspaceId === null ? 'organization' : 'workspace',
      organizationId,
      workspaceId,
      base.slug,
      kind,
      model,
      model === 'none' ? 0 : 1_024,
      isPrivate,
      isFrozen,
    ],
  );
  await execute(stack, 'insert into knowledge_base_counters (kb_id, organization_id, workspace_id) values (?, ?, ?)', [
    base.id,
    organizationId,
    workspaceId,
  ]);
  return base;
}

/** Gives an agent a right on a base. */
export async function grantAgent(stack: Stack, kbId: string, agentId: string, access: 'read' | 'write'): Promise<void> {
  const { organizationId, workspaceId } = stack.tenant;
  await execute(
    stack,
    `insert into knowledge_grants (id, kb_id, organization_id, workspace_id, principal_kind, principal_id, access) values (?, ?, ?, ?, 'agent', ?, ?)`,
    [newId(), kbId, organizationId, workspaceId, agentId, access],
  );
}

/** Changes rows past every policy. */
export function execute(stack: Stack, sql: string, params: readonly unknown[]): Promise<number> {
  return sweep(stack.db, (em) => change(em, sql, params));
}

/** Reads rows past every policy. */
export function select<T>(stack: Stack, sql: string, params: readonly unknown[]): Promise<T[]> {
  return sweep(stack.db, (em) => rows<T>(em, sql, params));
}

/** Asks the API; throws for what is no success. */
export async function ask<T>(stack: Stack, path: string, body?: object, method = body ? 'POST' : 'GET'): Promise<T> {
  const answer = await stack.request(method, path, body ? { body } : {});
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Live items of a base, oldest first. */
export function itemsOf(stack: Stack, kbId: string) {
  return select<{
    id: string;
    content: string;
    origin: string;
    trust: string;
    curation_state: string;
    created_by: unknown;
    evidence: unknown[];
  }>(
    stack,
    `select id, content, origin, trust, curation_state, created_by, evidence from knowledge_items where kb_id = ? and deleted_at is null order by id`,
    [kbId],
  );
}

export interface PlayedRun {
  readonly id: string;
  readonly frames: readonly ReceivedFrame[];
  readonly results: readonly ReceivedFrame['data'][];
  readonly status: unknown;
}

/** Starts a run of an agent and reads it to its end. */
export async function played(stack: Stack, agentId: string, input: string, more: object = {}): Promise<PlayedRun> {
  const run = await ask<{ id: string }>(stack, '/runs', { agent_id: agentId, input: { text: input }, ...more });
  return followed(stack, run.id);
}

/** Reads a run to its end. */
export async function followed(stack: Stack, runId: string): Promise<PlayedRun> {
  const frames = await readStream([stack.url()], `/runs/${runId}/stream`, stack.tenant.serviceKey.plaintext).finished;
  const results = frames.filter(({ type }) => type === 'tool.result').map(({ data }) => data);
  return { id: runId, frames, results, status: frames.at(-1)?.data['status'] };
}

/** What a user says so that the scripted model calls `knowledge_write` with these arguments, one call after the other. */
export function writing(...calls: readonly object[]): string {
  const steps = calls.map((args) => ({ tool_calls: [{ name: 'knowledge_write', arguments: args }] }));
  const script: Script = { steps: [...steps, { text: 'Done.' }] };
  return scripted(script);
}
