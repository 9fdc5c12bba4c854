import { ofAgents } from './meanings/agents.ts';
import { ofPeople } from './meanings/people.ts';
import { ofRuns } from './meanings/runs.ts';
import { shared } from './meanings/shared.ts';
import { ofTools } from './meanings/tools.ts';

const byPlace: Readonly<Record<string, string>> = { ...ofRuns, ...ofAgents, ...ofTools, ...ofPeople };

/**
 * What a field or parameter means whose schema does not say so itself; undefined where nothing is known beyond its name, which says that
 * already. `place` is the component, with the path to an object within it, or the operation of a parameter.
 */
export function meaningOf(place: string, name: string): string | undefined {
  return byPlace[`${place}.${name}`] ?? shared[name];
}

/** What a component is whose schema does not say so itself. */
export function meaningOfComponent(name: string): string | undefined {
  return byPlace[name];
}
