import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import type { Manifest } from '../../../db/runs/start/manifest.ts';
import type { CallState, LiveTool } from '../../../db/runs/calls/call-state.ts';
import type { ToolKind } from '../../../workflows/contracts/runs/runs.ts';
import { toolError, type ToolError } from './outcome.ts';

/** What is known about a call before it is executed: what its run pinned, and what its tool's row says now. */
export interface CallFacts {
  readonly toolId: string | null;
  readonly slug: string;
  readonly manifest: Pick<Manifest, 'tools'> | null;
  readonly kind: ToolKind | null;
  readonly effect: 'read' | 'write';
  readonly maxEffect: 'read' | 'write';
  readonly live: LiveTool | null;
  /** Whether the client executes it, as the run pinned it. */
  readonly clientOwned?: boolean;
}

/**
 * Returns why the tool is not executed; null when nothing prevents it. The tool's row is read live, since an admin who stops a tool stops its next call. A tool
 * without a row is built into the platform.
 */
export function refusalOf(call: CallFacts): ToolError | null {
  const { live } = call;
  const isOwn = call.toolId === null && (call.kind === 'builtin' || call.kind === 'delegate');
  if (!isOwn && (live === null || !live.isActive)) return toolError('tool_unavailable', 'the tool is not active any more', false);
  if (live?.isQuarantined) return toolError('tool_quarantined', 'the tool has changed on its server and waits for an approval', false);
  if (live?.clientOwned && call.clientOwned !== true)
    return toolError('tool_unavailable', 'the tool belongs to the client now', false, 'client_owned');

  // A delegate's child inherits the bound, so the child's tools are the ones that are refused.
  const writes = call.effect === 'write' || live?.effect === 'write';
  if (call.maxEffect === 'read' && writes && call.kind !== 'delegate')
    return toolError('effect_not_allowed', 'this run may only read', false);
  return null;
}

/**
 * Returns why this execution needs an approval by the tool's current row; null when it needs none or has been approved. Approvals that the run pinned were
 * requested before the call became ready: these are changes that an admin has made since.
 */
export function gateOf(
  call: Pick<CallState, 'live' | 'approved' | 'manifest' | 'slug'>,
): Extract<CallApproval, 'critical' | 'effect'> | null {
  const { live, approved, manifest, slug } = call;
  if (live === null) return null;
  if (live.critical) return approved === 'critical' ? null : 'critical';
  const pin = manifest?.tools.find((tool) => tool.slug === slug);
  return approved === 'nothing' && pin?.asks?.includes(live.effect) === true ? 'effect' : null;
}
