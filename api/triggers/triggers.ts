import { area } from '../http/operation/operation.ts';
import { eventTriggerOperations } from './event-triggers.operations.ts';
import { scheduleOccurrenceOperations } from './schedule-occurrences.operations.ts';
import { scheduleOperations } from './schedules.operations.ts';
import { webhookDeliveryOperations } from './webhook-deliveries.operations.ts';
import { webhookEndpointOperations } from './webhook-endpoints.operations.ts';

/** What starts runs by itself: addresses, clocks and events. */
export const triggers = area('Triggers', {
  ...webhookEndpointOperations,
  ...webhookDeliveryOperations,
  ...scheduleOperations,
  ...scheduleOccurrenceOperations,
  ...eventTriggerOperations,
});
