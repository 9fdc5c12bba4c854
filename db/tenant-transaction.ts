import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Measurement } from '../workflows/contracts/measurements.ts';
import type { Actor, TenantSettings } from './caller.ts';

/** What one run's append gave: the numbers and the exact bytes, ready to be published after the commit. */
export interface AppendedFrames {
  readonly runId: string;
  readonly firstSeq: number;
  readonly frames: readonly string[];
}

/** What leaves the process once the transaction has committed. Filled inside, sent after. */
export interface Outgoing {
  readonly frames: AppendedFrames[];
  readonly outboxIds: string[];
  /** Runs whose activities should hear of a cancel at once (Redis notice). */
  readonly cancelledRunIds: string[];
  /** Runs whose frames have been erased: what is cached of them goes too. */
  readonly erasedRunIds: string[];
  /** Principals (`user:<id>`, `session:<id>`, `service_key:<id>`) whose rights are looked at again at once; `organization:<id>` means all of its people. */
  readonly revoked: string[];
  /** Counted by this process once the transaction has committed. */
  readonly measurements: Measurement[];
}

/** One transaction in one tenant: its entity manager, whose rows it may see, who acts, and what leaves after commit. */
export interface TenantTransaction {
  readonly em: SqlEntityManager;
  readonly tenant: TenantSettings;
  readonly actor: Actor;
  readonly correlationId: string;
  readonly outgoing: Outgoing;
}
