import type { McpPrincipal } from '../../db/mcp/connections.ts';
import type { McpToolkit } from '../../db/mcp/mcp-toolkit.ts';
import { requestSync } from '../../db/mcp/syncs.ts';
import { newId } from '../../db/ids.ts';
import { organizationTenant, systemActor, transact } from '../../db/scope.ts';
import type { ActivityDeps } from '../deps.ts';

export type ToolsChanged = (toolkit: McpToolkit, principal: McpPrincipal) => void;

/** What happens when a server says that its tools are others now: a sync, at most one a minute whatever the server says. Never throws. */
export function createToolsChanged({ db, log, dispatch }: Pick<ActivityDeps, 'db' | 'log' | 'dispatch'>): ToolsChanged {
  const asking = new Set<string>();

  async function ask(toolkit: McpToolkit, principal: McpPrincipal): Promise<void> {
    if (toolkit.organizationId === null) return;
    const tenant = organizationTenant(toolkit.organizationId);
    const { outgoing } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, (unit) =>
      requestSync(unit, toolkit, {
        note: 'The server said that its tools have changed.',
        createdBy: principal.kind === 'user' ? { kind: 'user', id: principal.id } : { kind: 'system', id: null },
      }),
    );
    await dispatch(outgoing);
  }

  return (toolkit, principal) => {
    // A server that repeats itself is heard once at a time.
    if (asking.has(toolkit.id)) return;
    asking.add(toolkit.id);
    void ask(toolkit, principal)
      .catch((err: unknown) => log.warn({ err, toolkit_id: toolkit.id }, 'sync not requested'))
      .finally(() => asking.delete(toolkit.id));
  };
}
