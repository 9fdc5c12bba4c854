import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { ToolKind, ToolResultCode } from '../../workflows/contracts/runs.ts';
import { creatorOf } from '../actor-ref.ts';
import type { RowWorkspace } from '../new-row-scope.ts';
import { newId } from '../ids.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Scope } from '../../workflows/contracts/access.ts';

/** What came of a test, as its row holds it: cut as for a model, with secrets by name. */
export interface ToolTestResult {
  readonly status: 'succeeded' | 'failed' | 'timed_out';
  readonly output: unknown;
  readonly output_type: 'text' | 'json';
  readonly truncated: boolean;
  readonly total_chars: number;
  readonly error: { readonly code: ToolResultCode; readonly message: string; readonly retryable: boolean } | null;
  readonly request: { readonly method: string; readonly url: string; readonly headers: Readonly<Record<string, string>> } | null;
  readonly duration_ms: number;
}

/** A test with its tool as it is now, locked to the end of the transaction. */
export interface TestState {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly arguments: Record<string, unknown>;
  readonly dry_run: boolean;
  readonly is_claimed: boolean;
  readonly is_settled: boolean;
  /** Null: deleted meanwhile. */
  readonly tool: TestedTool | null;
}

export interface TestedTool {
  readonly id: string;
  readonly scope: Scope;
  readonly slug: string;
  readonly kind: ToolKind;
  readonly config: Record<string, unknown>;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly is_idempotent: boolean;
  readonly is_quarantined: boolean;
  readonly timeout_s: number;
  readonly response_max_chars: number;
}

export interface NewTest {
  readonly home: RowWorkspace;
  readonly toolId: string;
  readonly args: Record<string, unknown>;
  readonly isDryRun: boolean;
}

/** Writes a test, which is kept for 24 hours. Gives its id. */
export async function insertToolTestRow(tx: TenantTransaction, { home, toolId, args, isDryRun }: NewTest): Promise<string> {
  const id = newId();
  await change(
    tx.em,
    `insert into tool_tests (id, tool_id, organization_id, workspace_id, arguments, dry_run, created_by, expires_at, created_at)
     values (?, ?, ?, ?, ?::jsonb, ?, ?::jsonb, now() + interval '24 hours', now())`,
    [id, toolId, home.organizationId, home.workspaceId, JSON.stringify(args), isDryRun, JSON.stringify(creatorOf(tx.actor))],
  );
  return id;
}

/** Locks a test; null when it is gone. */
export function lockToolTest(tx: TenantTransaction, testId: string): Promise<TestState | null> {
  return row<TestState>(
    tx.em,
    `select s.id, s.organization_id, s.workspace_id, s.arguments, s.dry_run, s.claimed_at is not null as is_claimed, s.result is not null as is_settled,
            (select jsonb_build_object('id', t.id, 'scope', t.scope, 'slug', t.slug, 'kind', t.kind, 'config', t.config, 'effect', t.effect,
               'concurrency', t.concurrency, 'is_idempotent', t.is_idempotent or coalesce(t.config ->> 'idempotency_header', '') <> '',
               'is_quarantined', t.quarantined_at is not null, 'timeout_s', t.timeout_s, 'response_max_chars', t.response_max_chars)
               from tools t where t.id = s.tool_id and t.deleted_at is null) as tool
       from tool_tests s where s.id = ? for no key update of s`,
    [testId],
  );
}

export async function claimToolTestRow(tx: TenantTransaction, testId: string): Promise<void> {
  await change(tx.em, 'update tool_tests set claimed_at = clock_timestamp() where id = ?', [testId]);
}

/** Stores the result once; a later one is dropped. */
export async function settleToolTestRow(tx: TenantTransaction, testId: string, result: ToolTestResult): Promise<void> {
  await change(tx.em, 'update tool_tests set result = ?::jsonb where id = ? and result is null', [JSON.stringify(result), testId]);
}

/** Null while there is none. */
export async function readToolTestResult(tx: Pick<TenantTransaction, 'em'>, testId: string): Promise<ToolTestResult | null> {
  const found = await row<{ result: ToolTestResult | null }>(tx.em, 'select result from tool_tests where id = ?', [testId]);
  return found?.result ?? null;
}

/** Deletes at most `limit` tests past their time; gives how many. Sweeper's pool. */
export function deleteExpiredToolTests(em: SqlEntityManager, limit: number): Promise<number> {
  return change(em, 'delete from tool_tests where id in (select id from tool_tests where expires_at <= now() limit ?)', [limit]);
}
