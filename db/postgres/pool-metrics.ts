import { Gauge, type Metric } from 'prom-client';
import { poolUse, type Databases } from '../databases.ts';
import type { PoolUse } from './pg-dialect.ts';

/** Creates gauges of how a process's two pools are used, read at each scrape. They are in no registry: the process registers them. */
export function createPoolMetrics({ app, sweeper }: Pick<Databases, 'app' | 'sweeper'>): readonly Metric[] {
  const pools = { app, sweeper };
  const gauge = (name: string, help: string, read: (use: PoolUse) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [],
      collect() {
        for (const [pool, orm] of Object.entries(pools)) this.set({ pool }, read(poolUse(orm)));
      },
    });

  return [
    gauge('longhaul_database_connections_in_use', 'Database connections of this process at work', ({ inUse }) => inUse),
    gauge('longhaul_database_connections_idle', 'Database connections of this process that are open and idle', ({ idle }) => idle),
    gauge('longhaul_database_connections_max', 'Database connections that this process opens at most', ({ max }) => max),
    gauge('longhaul_database_waiting', 'Statements of this process that wait for a database connection', ({ waiting }) => waiting),
  ];
}
