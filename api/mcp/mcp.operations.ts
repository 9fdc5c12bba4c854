import { area } from '../http/operation.ts';
import { endpointOperations } from './endpoint.operations.ts';

export const mcp = area('Mcp', { ...endpointOperations });
