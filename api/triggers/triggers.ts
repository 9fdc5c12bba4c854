import { area } from '../http/operation.ts';
import { eventTriggerOperations } from './event-triggers.operations.ts';
import { webhookDeliveryOperations } from './webhook-deliveries.operations.ts';
import { webhookEndpointOperations } from './webhook-endpoints.operations.ts';

/** What starts runs by itself; schedules have no operations yet. */
export const triggers = area('Triggers', { ...webhookEndpointOperations, ...webhookDeliveryOperations, ...eventTriggerOperations });
