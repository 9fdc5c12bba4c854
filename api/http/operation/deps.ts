import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Identity } from '../../../domain/identity/callers/identity.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import type { Databases } from '../../../db/databases.ts';
import type { Outgoing } from '../../../db/tenant-transaction.ts';
import type { Egress } from '../../../ports/egress/egress.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import type { SchemasByTenant } from '../../../ports/json/schema.ts';
import type { PermitMetrics } from '../../../ports/metrics/permit-metrics.ts';
import type { RunMetrics } from '../../../ports/metrics/run-metrics.ts';
import type { ModelRegistry } from '../../../ports/models/models.ts';
import type { PasswordStrength } from '../../../ports/passwords/strength.ts';
import type { Storage } from '../../../ports/storage/storage.ts';
import type { TemplatesByTenant } from '../../../ports/templates/templates.ts';
import type { TemporalGateway } from '../../../ports/temporal-gateway.ts';
import type { WorkPool } from '../../../ports/untrusted/pool.ts';
import type { ApiEnv } from '../../env.ts';
import type { Hub } from '../../streams/hub.ts';
import type { Deprecation } from '../openapi/deprecations.ts';
import type { Documents } from '../openapi/documents.ts';
import type { Metrics } from '../metrics.ts';
import type { RegisteredOperation } from './operation.ts';
import type { Limits } from './rate-limit.ts';

/**
 * What a process opens once for its requests (`openDependencies`) and closes at its end, and what several areas share. A dependency of one area is created in
 * that area, see `areaDependency`.
 */
export interface Deps {
  readonly env: ApiEnv;
  readonly db: Databases;
  readonly redis: Redis;
  readonly keys: KeyRing;
  readonly identity: Identity;
  readonly hub: Hub;
  readonly limits: Limits;
  readonly egress: Egress;
  readonly models: ModelRegistry;
  /** Computes the vectors of texts; only `inProcess` models are fast enough for a request. */
  readonly embedder: Embedder;
  readonly schemas: SchemasByTenant;
  readonly templates: TemplatesByTenant;
  /** The pool that processes schemas, templates, documents and bundles of tenants. */
  readonly work: WorkPool;
  readonly passwordStrength: PasswordStrength;
  readonly temporal: TemporalGateway;
  readonly storage: Storage;
  /** Which code this deployment runs, according to this machine's probe, which runs once per process. */
  readonly codeExec: { readonly isOn: boolean; readonly hasStrict: () => Promise<boolean> };
  readonly log: Logger;
  readonly runMetrics: RunMetrics;
  /** Whether a built console is served. */
  readonly hasConsole: () => boolean;
  readonly permitMetrics: PermitMetrics;
  readonly now: () => Date;
  /** Publishes frames and notices and sends outbox rows after a commit. Never throws: the outbox relay and the reconciler send again what fails. */
  readonly dispatch: (outgoing: Outgoing) => Promise<void>;
  /** True once SIGTERM has been received. */
  readonly isDraining: () => boolean;
}

/** What `buildApp` adds: dependencies that are made from the list of operations. */
export interface AppDeps extends Deps {
  /** The operations that are mounted, in the contract's order. */
  readonly operations: readonly RegisteredOperation[];
  readonly documents: Documents;
  readonly deprecations: readonly Deprecation[];
  readonly metrics: Metrics;
}
