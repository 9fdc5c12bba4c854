import { area } from '../http/operation/operation.ts';
import { endpointOperations } from './endpoint.operations.ts';
import { mcpToolkitOperations } from './toolkits.operations.ts';

export const mcp = area('Mcp', { ...endpointOperations, ...mcpToolkitOperations });
