import { composite, plain, type TenantKey } from './tenant-key.ts';

/** Keys of what starts runs automatically: schedules, webhooks, events and channels. */
export const triggerKeys: readonly TenantKey[] = [
  plain('schedules', 'agent_id', 'agents'),
  plain('schedules', 'created_by_user_id', 'users'),
  composite('schedule_occurrences', 'schedule_id', 'schedules'),
  composite('schedule_occurrences', 'run_id', 'runs'),
  composite('schedule_backfills', 'schedule_id', 'schedules'),
  plain('webhook_endpoints', 'agent_id', 'agents'),
  composite('endpoint_counters', 'endpoint_id', 'webhook_endpoints'),
  composite('webhook_deliveries', 'endpoint_id', 'webhook_endpoints'),
  composite('webhook_deliveries', 'run_id', 'runs'),
  composite('delivery_keys', 'endpoint_id', 'webhook_endpoints'),
  composite('outbound_callbacks', 'endpoint_id', 'webhook_endpoints'),
  composite('outbound_callbacks', 'run_id', 'runs'),
  composite('events', 'cause_run_id', 'runs'),
  plain('event_triggers', 'agent_id', 'agents'),
  plain('event_triggers', 'created_by_user_id', 'users'),
  composite('event_trigger_counters', 'trigger_id', 'event_triggers'),
  { ...plain('event_matches', 'event_id', 'events'), onDelete: 'cascade' },
  composite('event_matches', 'trigger_id', 'event_triggers'),
  composite('event_matches', 'run_id', 'runs'),
  plain('channels', 'agent_id', 'agents'),
  composite('channel_messages', 'channel_id', 'channels'),
  composite('channel_messages', 'run_id', 'runs'),
  composite('channel_outbound', 'channel_id', 'channels'),
  composite('channel_outbound', 'run_id', 'runs'),
];
