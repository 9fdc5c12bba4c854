import type { Views } from '../app/api.ts';

export const groupings = ['agent', 'model', 'kind', 'user', 'service_key', 'workspace'] as const;
export type Grouping = (typeof groupings)[number];
export type UsageGroup = Views['UsageGroupView'];

const plottedMax = 8;

/** Which agent, model, person … a group is of; null: it is of none. */
export function groupKey(group: UsageGroup, by: Grouping): string | null {
  switch (by) {
    case 'agent':
      return group.agent_id ?? null;
    case 'model':
      return group.model ?? null;
    case 'kind':
      return group.kind ?? null;
    case 'user':
      return group.user_id ?? null;
    case 'service_key':
      return group.service_key_id ?? null;
    case 'workspace':
      return group.workspace_id ?? null;
    default:
      return by satisfies never;
  }
}

/** Cost per day and group, as a plot takes it: positions on screen and never amounts, which the table has from the server as they are. */
export interface PlotSeries {
  /** Days as seconds since 1970, ascending, without holes. */
  readonly days: readonly number[];
  readonly series: readonly { readonly key: string | null; readonly costs: readonly number[] }[];
}

/** The groups that cost most, day by day; a day on which nothing was used is 0. */
export function toSeries(groups: readonly UsageGroup[], keyOf: (group: UsageGroup) => string | null): PlotSeries {
  const dayOf = (group: UsageGroup) => Date.parse(`${group.day ?? ''}T00:00:00Z`) / 1_000;
  const seen = groups.map(dayOf).filter(Number.isFinite);
  if (seen.length === 0) return { days: [], series: [] };
  const first = Math.min(...seen);
  const days = Array.from({ length: (Math.max(...seen) - first) / 86_400 + 1 }, (_, index) => first + index * 86_400);
  const byKey = new Map<string | null, number[]>();
  for (const group of groups) {
    const costs = byKey.get(keyOf(group)) ?? days.map(() => 0);
    const index = (dayOf(group) - first) / 86_400;
    costs[index] = (costs[index] ?? 0) + Number(group.cost);
    byKey.set(keyOf(group), costs);
  }
  const series = [...byKey].map(([key, costs]) => ({ key, costs, total: costs.reduce((sum, cost) => sum + cost, 0) }));
  return { days, series: series.toSorted((a, b) => b.total - a.total).slice(0, plottedMax) };
}

/** The day of a moment, or of today with so many days added, in the reader's zone. */
export function dayText(date: Date): string {
  const two = (part: number) => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** From the first moment of one day to the end of another, in the reader's zone, as instants; without days the last thirty. */
export function spanOf(from: string | undefined, to: string | undefined): { readonly from: string; readonly to: string } {
  const begin = from === undefined ? new Date() : new Date(`${from}T00:00:00`);
  if (from === undefined) {
    begin.setHours(0, 0, 0, 0);
    begin.setDate(begin.getDate() - 29);
  }
  const end = to === undefined ? new Date() : new Date(`${to}T00:00:00`);
  end.setHours(0, 0, 0, 0);
  end.setDate(end.getDate() + 1);
  return { from: begin.toISOString(), to: end.toISOString() };
}
