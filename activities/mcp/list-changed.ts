import { setTimeout as delay } from 'node:timers/promises';
import type { McpPrincipal } from '../../db/mcp/connection-queries.ts';
import type { McpToolkit } from '../../db/toolkits/mcp-toolkits.ts';
import { requestSync } from '../../domain/toolkits/syncs.ts';
import { newId } from '../../db/ids.ts';
import { organizationTenant, systemActor } from '../../db/transaction.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';

export type ToolsChanged = (toolkit: McpToolkit, principal: McpPrincipal) => void;

const pauseMs = 5_000;

/**
 * Handles the announcement of a server that its tools have changed: one sync, at most once a minute however often the server announces it, and a query of our
 * own rows at most every five seconds. Never throws.
 */
export function createToolsChanged(deps: Pick<ActivityDeps, 'db' | 'log' | 'dispatch'>): ToolsChanged {
  /** Toolkits whose server has announced a change lately; true: again since then. */
  const heard = new Map<string, boolean>();

  async function ask(toolkit: McpToolkit, principal: McpPrincipal): Promise<void> {
    if (toolkit.organizationId === null) return;
    const tenant = organizationTenant(toolkit.organizationId);
    await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, (tx) =>
      requestSync(tx, toolkit, {
        note: 'The server said that its tools have changed.',
        createdBy: principal.kind === 'user' ? { kind: 'user', id: principal.id } : { kind: 'system', id: null },
      }),
    );
  }

  async function askOnce(toolkit: McpToolkit, principal: McpPrincipal): Promise<void> {
    do {
      heard.set(toolkit.id, false);
      await ask(toolkit, principal).catch((err: unknown) => deps.log.warn({ err, toolkit_id: toolkit.id }, 'sync not requested'));
      await delay(pauseMs, undefined, { ref: false });
    } while (heard.get(toolkit.id));
    heard.delete(toolkit.id);
  }

  return (toolkit, principal) => {
    const isHeard = heard.has(toolkit.id);
    heard.set(toolkit.id, true);
    if (!isHeard) void askOnce(toolkit, principal);
  };
}
