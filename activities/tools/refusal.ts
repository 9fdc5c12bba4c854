import type { Manifest } from '../../db/runs/manifest.ts';
import type { LiveTool } from '../../db/runs/tool-calls.ts';
import type { ToolKind } from '../../workflows/contracts/runs.ts';
import { toolError, type ToolError } from './outcome.ts';

/** What is known of a call before it is executed: what its run pinned, and what its tool's row says now. */
export interface CallFacts {
  readonly tool_id: string | null;
  readonly slug: string;
  readonly manifest: Pick<Manifest, 'tools'> | null;
  readonly kind: ToolKind | null;
  readonly effect: 'read' | 'write';
  readonly max_effect: 'read' | 'write';
  readonly live: LiveTool | null;
}

/**
 * Why the tool is not executed, read live, since an admin who stops a tool stops its next call; null when nothing stands against it. A tool
 * without a row is the platform's own.
 */
export function refusalOf(call: CallFacts): ToolError | null {
  const { live } = call;
  const isOwn = call.tool_id === null && call.kind === 'builtin';
  if (!isOwn && (live === null || !live.is_active)) return toolError('tool_unavailable', 'the tool is not active any more', false);
  if (live?.is_quarantined) return toolError('tool_quarantined', 'the tool has changed on its server and waits for an approval', false);
  if (live !== null && needsApproval(call, live))
    return toolError('tool_unavailable', 'each call of this tool needs an approval now', false, 'approval_required');
  if (live?.client_owned) return toolError('tool_unavailable', 'the tool belongs to the client now', false, 'approval_required');

  // A delegate's child inherits the bound, so it is the child's tools that are refused.
  const writes = call.effect === 'write' || live?.effect === 'write';
  if (call.max_effect === 'read' && writes && call.kind !== 'delegate')
    return toolError('effect_not_allowed', 'this run may only read', false);
  return null;
}

/** Nobody can be asked inside a run yet. */
function needsApproval({ manifest, slug }: CallFacts, live: LiveTool): boolean {
  const pin = manifest?.tools.find((tool) => tool.slug === slug);
  return live.critical || pin?.asks?.includes(live.effect) === true;
}
