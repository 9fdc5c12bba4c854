import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { PermitMetrics } from '../../metrics/permit-metrics.ts';
import type { CallLimits, RateLimits } from '../limits.ts';
import { PermitGate, type Permit, type PermitRequest } from './gate.ts';

export type { Permit } from './gate.ts';

/** A model whose calls are limited. */
export interface LimitedModel {
  readonly id: string;
  readonly provider: string;
  readonly limits: CallLimits | null;
}

/** Who may call a model with limits, and when. Models without limits never come here. */
export interface ModelPermits {
  /** Waits for a permit; null: there was none in time. Rejects with the signal's reason. */
  take(model: LimitedModel, request: Omit<PermitRequest, 'model'>): Promise<Permit | null>;
  /** Calls of this process that wait for a permit of this provider. */
  waiting(provider: string): number;
  close(): void;
}

export interface PermitOptions {
  readonly models: readonly LimitedModel[];
  readonly redis: Redis;
  readonly prefix: string;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: PermitMetrics;
}

/** Opens the permits of a process. Without limits in the registry it opens no connection. */
export function createModelPermits({ models, redis, prefix, log, metrics }: PermitOptions): ModelPermits {
  const limited = models.filter(({ limits }) => limits !== null);
  const client = limited.length === 0 ? null : redis.duplicate({ commandTimeout: 1_000, maxRetriesPerRequest: 0 });
  client?.on('error', () => undefined); // each command reports errors through its own promise
  const gates = new Map<string, PermitGate>();
  for (const provider of client ? new Set(limited.map((model) => model.provider)) : []) {
    const own = limited.filter((model) => model.provider === provider);
    const limits = {
      provider: own.find((model) => model.limits?.provider)?.limits?.provider ?? null,
      models: new Map(own.flatMap(({ id, limits: each }): [string, RateLimits][] => (each?.model ? [[id, each.model]] : []))),
    };
    if (client)
      gates.set(provider, new PermitGate({ provider, limits, redis: client, keys: `${prefix}permits:${provider}:`, log, metrics }));
  }

  return {
    take(model, request) {
      const gate = gates.get(model.provider);
      if (!gate) throw new Error(`${model.id} has no limits`);
      return gate.take({ ...request, model: model.id });
    },
    waiting: (provider) => gates.get(provider)?.waiting ?? 0,
    close() {
      for (const gate of gates.values()) gate.close();
      client?.disconnect();
    },
  };
}
