import { ofAgents } from './meanings/agents.ts';
import { ofKnowledgeMaintenance } from './meanings/knowledge-maintenance.ts';
import { ofKnowledge } from './meanings/knowledge.ts';
import { ofPeople } from './meanings/people.ts';
import { ofRuns } from './meanings/runs.ts';
import { inPath, inQuery, shared } from './meanings/shared.ts';
import { ofTools } from './meanings/tools.ts';

const byLocation: Readonly<Record<string, string>> = {
  ...ofRuns,
  ...ofAgents,
  ...ofTools,
  ...ofPeople,
  ...ofKnowledge,
  ...ofKnowledgeMaintenance,
};

/**
 * What a field or parameter means whose schema does not say so itself; undefined where nothing is known beyond its name, which says that
 * already. `location` is the component, with the path to an object within it, or the operation of a parameter of path or query.
 */
export function meaningOf(location: string, name: string, kind: 'field' | 'path' | 'query' = 'field'): string | undefined {
  const ofKind = { field: shared, path: inPath, query: inQuery }[kind];
  return byLocation[`${location}.${name}`] ?? ofKind[name] ?? shared[name];
}

/** What a component is whose schema does not say so itself. */
export function meaningOfComponent(name: string): string | undefined {
  return byLocation[name];
}
