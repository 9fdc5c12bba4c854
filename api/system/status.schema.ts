import Type from 'typebox';
import { closed, integer, listOf, nullable, text, Timestamp } from '../http/input/schema.ts';
import { VersionView } from './version.schema.ts';

const latencyMs = integer({ maximum: 60_000, description: 'Milliseconds of one round trip' });

const PostgresStatus = closed(
  { version: text(60), size_bytes: integer(), connections: integer(), latency_ms: latencyMs },
  { $id: 'PostgresStatus' },
);
const RedisStatus = closed(
  { version: text(60), used_memory_bytes: integer(), connected_clients: integer(), latency_ms: latencyMs },
  { $id: 'RedisStatus' },
);
const TemporalStatus = closed({ latency_ms: latencyMs }, { $id: 'TemporalStatus' });
const OutboxStatus = closed(
  {
    due: integer(),
    oldest_due_age_s: nullable(integer({ description: 'Age in seconds of the row that has been due the longest' })),
    failing: integer({ description: 'Due rows that failed before' }),
  },
  { $id: 'OutboxStatus' },
);
const RunsStatus = closed({ queued: integer(), running: integer(), waiting: integer(), cancelling: integer() }, { $id: 'RunsStatus' });
const SchedulesStatus = closed(
  { total: integer(), paused: integer(), missed: integer(), next_at: nullable(Timestamp) },
  { $id: 'SchedulesStatus' },
);
const BackupStatus = closed({ at: Timestamp }, { $id: 'BackupStatus' });

export const SystemStatusView = closed(
  {
    generated_at: Timestamp,
    version: VersionView,
    draining: Type.Boolean(),
    postgres: nullable(PostgresStatus),
    redis: nullable(RedisStatus),
    temporal: nullable(TemporalStatus),
    outbox: nullable(OutboxStatus),
    runs: nullable(RunsStatus),
    schedules: nullable(SchedulesStatus),
    last_backup: nullable(BackupStatus),
    queues: listOf(
      closed({ name: text(200), backlog: nullable(integer()), oldest_age_s: nullable(integer()), pollers: nullable(integer()) }),
    ),
    workers: listOf(closed({ identity: text(400), build_id: text(200), queues: listOf(text(200)), last_seen_at: Timestamp }), {
      maxItems: 1_000,
    }),
    problems: listOf(closed({ part: text(60), message: text(500) }), { maxItems: 20, description: 'Parts that could not be read' }),
  },
  { $id: 'SystemStatusView', description: 'State of the deployment; a part that cannot be read is null and listed in problems' },
);
