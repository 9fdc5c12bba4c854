import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { EndedRun } from '../workflows/contracts/runs/ended-run.ts';
import type { Measurement } from '../workflows/contracts/measurements.ts';
import type { Actor, TenantSettings } from './caller.ts';

/** The frames that one run's append produced: their numbers and exact bytes, ready to be published after the commit. */
export interface AppendedFrames {
  readonly runId: string;
  readonly firstSeq: number;
  readonly frames: readonly string[];
}

/** What leaves the process once the transaction has committed. It is filled inside the transaction and sent after it. */
export interface Outgoing {
  readonly frames: AppendedFrames[];
  readonly outboxIds: string[];
  /** Runs whose activities are notified of a cancel at once (Redis notice). */
  readonly cancelledRunIds: string[];
  /** Runs whose frames have been erased; whatever is cached of them is erased too. */
  readonly erasedRunIds: string[];
  /** Principals (`user:<id>`, `session:<id>`, `service_key:<id>`) whose rights are checked again at once; `organization:<id>` means all of its people. */
  readonly revoked: string[];
  /** Measurements that this process counts once the transaction has committed. */
  readonly measurements: Measurement[];
  /** Runs that the transaction has ended, for their spans. */
  readonly endedRuns: EndedRun[];
}

/** One database transaction in one tenant: its entity manager, the tenant whose rows it may see, the actor, and what leaves after the commit. */
export interface TenantTransaction {
  readonly em: SqlEntityManager;
  readonly tenant: TenantSettings;
  readonly actor: Actor;
  readonly correlationId: string;
  readonly outgoing: Outgoing;
}
