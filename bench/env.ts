import { join, resolve } from 'node:path';
import type { ServiceAddresses } from '../cli/services/index.ts';

export const root = resolve(import.meta.dirname, '..');

/** Services, ports and logs of the bench's own deployments. */
export const stateDir = join(root, '.longhaul/bench');
export const wheelsDir = join(root, '.longhaul/wheels');

const startedWith = { ...process.env };

/** The environment that this process was started with: services of its own that it has published and stopped are none that somebody named. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return startedWith;
}

/** Makes the services known to `test/support`, which finds them as the global set-up of the tests leaves them. */
export function publishServices(services: ServiceAddresses, templateDatabase: string): void {
  process.env['DATABASE_URL'] = services.databaseUrl;
  process.env['REDIS_URL'] = services.redisUrl;
  process.env['TEMPORAL_ADDRESS'] = services.temporalAddress;
  process.env['TEST_TEMPLATE_DATABASE'] = templateDatabase;
}

/** A variable that the harness has set for a process it started. */
export function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** Where retrieval collections lie; null: nowhere. */
export function collectionsFolder(): string | null {
  return process.env['RETRIEVAL_COLLECTIONS'] ?? null;
}

/** Chunks of the bases that the bench `search` measures. A base of 1,000,000 takes ten minutes to load: only where `SEARCH_CHUNKS` asks for it. */
export function searchedSizes(): readonly number[] {
  return (process.env['SEARCH_CHUNKS'] ?? '1000,10000,100000').split(',').map(Number);
}

/** Which parts of the bench `ingest` run (`items`, `memory`, `latency`): all, unless `INGEST_PARTS` names some. */
export function ingestParts(): readonly string[] {
  return (process.env['INGEST_PARTS'] ?? 'items,memory,latency').split(',');
}

/** Items that the bench `ingest` has ingested in each round: 10,000, unless `INGEST_ITEMS` says fewer. */
export function ingestedItems(): number {
  return Number(process.env['INGEST_ITEMS'] ?? 10_000);
}

/** Items of the base that the bench `reembed` embeds afresh in each round: 1,000, unless `REEMBED_ITEMS` says otherwise. */
export function reembeddedItems(): number {
  return Number(process.env['REEMBED_ITEMS'] ?? 1_000);
}

/** Distinct deliveries that the bench `hooks` sends twice each: 10,000, unless `HOOK_DELIVERIES` says fewer. */
export function hookDeliveries(): number {
  return Number(process.env['HOOK_DELIVERIES'] ?? 10_000);
}
