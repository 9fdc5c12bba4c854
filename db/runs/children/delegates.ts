import type { EffectiveConfiguration } from '../../agents/effective.ts';
import type { Manifest } from '../start/manifest.ts';
import type { RunLimits } from '../run-types.ts';

export type DelegateOutput = 'text' | 'json';

/** Whom a delegate tool asks, as a run keeps it to its end. */
export interface PinnedDelegate {
  readonly agent_id: string;
  readonly agent_slug: string;
  readonly revision_id: string;
  /** Null: the agent's default one. */
  readonly persona_slug: string | null;
  readonly history: 'none' | 'summary';
  readonly output: DelegateOutput;
  /** Decimal string. */
  readonly max_cost: string | null;
}

/** Whether a run may have runs below it. */
export function hasDelegates(manifest: Manifest | null): boolean {
  return manifest?.tools.some((tool) => tool.delegate !== undefined) ?? false;
}

/** Whether the limits of a run leave room for any run below it. */
export function mayDelegate({ max_children, max_depth }: Pick<RunLimits, 'max_children' | 'max_depth'>): boolean {
  return max_children > 0 && max_depth > 0;
}

/** What a run uses that may ask nobody. */
export function withoutDelegates(effective: EffectiveConfiguration): EffectiveConfiguration {
  return { ...effective, sub_agents: [], tools: effective.tools.filter((tool) => tool.delegate === null) };
}
