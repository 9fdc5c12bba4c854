import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ReviewFacts } from '../pulls/facts.ts';
import { handOverSql } from './hand-over.sql.ts';

/** An event of the host, to be stored for the bindings that it concerns. */
export interface HandedEvent {
  readonly installation_id: number;
  readonly repo_id: number | null;
  readonly pull_number: number | null;
  readonly is_of_binding: boolean;
  /** `X-GitHub-Delivery`: a repeated delivery changes nothing. */
  readonly guid: string;
  readonly event: string;
  readonly action: string;
  readonly facts: ReviewFacts;
  /** Messages that start or wake the workflow of a pull request, and of a binding; the SQL fills in ids and arguments. */
  readonly pull_message: object;
  readonly binding_message: object;
}

// The text is that of the definer function, too.
const ownSql = `${handOverSql('?::jsonb', "b.app_kind = 'workspace' and b.workspace_id = ?::uuid")} returning id`;

/** Hands an event over to the bindings of a workspace that its own App reaches. One statement; returns the number of messages to be sent. */
export async function handOverToWorkspace(tx: TenantTransaction, event: HandedEvent, workspaceId: string): Promise<number> {
  return sent(tx, await rows<{ id: string }>(tx.em, ownSql, [JSON.stringify(event), workspaceId]));
}

const handingToAll = prepared(({ event }: ParametersOf<{ readonly event: string }>) =>
  query.selectFrom(sql<{ id: string }>`gate_review_event(${event}::jsonb)`.as<'message'>(sql`message (id)`)).select('message.id'),
);

/** Hands an event over to the bindings that the deployment's App reaches, in any tenant. One statement; returns the number of messages to be sent. */
export async function handOverToAll(tx: TenantTransaction, event: HandedEvent): Promise<number> {
  return sent(tx, await rows(tx.em, handingToAll({ event: JSON.stringify(event) })));
}

function sent(tx: TenantTransaction, messages: readonly { readonly id: string }[]): number {
  tx.outgoing.outboxIds.push(...messages.map(({ id }) => id));
  return messages.length;
}
