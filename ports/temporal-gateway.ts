/** What the API may request from Temporal besides sending outbox rows: probes and the operator's status. Implemented in `temporal/`. */
export interface TemporalGateway {
  /** Resolves when the namespace exists and has everything that the deployment needs; rejects otherwise or after `timeoutMs`. */
  check(timeoutMs: number): Promise<void>;
  queues(timeoutMs: number): Promise<QueueStatus[]>;
  workers(timeoutMs: number): Promise<WorkerStatus[]>;
  schedules(timeoutMs: number): Promise<ScheduleStatus[]>;
}

export interface QueueStatus {
  readonly name: string;
  readonly backlog: number | null;
  readonly oldestAgeS: number | null;
  readonly pollers: number | null;
}

export interface WorkerStatus {
  readonly identity: string;
  readonly buildId: string;
  readonly queues: readonly string[];
  readonly lastSeenAt: Date;
}

export interface ScheduleStatus {
  readonly id: string;
  readonly isPaused: boolean;
  readonly nextAt: Date | null;
  readonly missed: number;
}
