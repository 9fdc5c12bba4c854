import type { EffectiveConfiguration } from '../../agents/effective/effective.ts';
import type { Manifest } from '../start/manifest.ts';
import type { RunLimits } from '../run-types.ts';

/** Whether a run may have runs below it. */
export function hasDelegates(manifest: Manifest | null): boolean {
  return manifest?.tools.some((tool) => tool.delegate !== undefined) ?? false;
}

/** Whether the limits of a run allow any run below it. */
export function mayDelegate({ max_children, max_depth }: Pick<RunLimits, 'max_children' | 'max_depth'>): boolean {
  return max_children > 0 && max_depth > 0;
}

/** Returns the configuration of a run that may not delegate to other agents. */
export function withoutDelegates(effective: EffectiveConfiguration): EffectiveConfiguration {
  return { ...effective, sub_agents: [], tools: effective.tools.filter((tool) => tool.delegate === null) };
}
