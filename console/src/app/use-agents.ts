import { useQuery } from '@tanstack/react-query';
import { agentsQuery } from './queries.ts';

/** The agents that something can start, for a choice, and their names. */
export function useAgents() {
  const agents = useQuery(agentsQuery);
  const items = agents.data?.items ?? [];
  return {
    options: items.map(({ id, name }) => ({ id, label: name })),
    nameOf: (id: string) => items.find((one) => one.id === id)?.name ?? `…${id.slice(-12)}`,
  };
}

export type Agents = ReturnType<typeof useAgents>;
