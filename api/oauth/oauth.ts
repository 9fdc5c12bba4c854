import { area } from '../http/operation/operation.ts';
import { authorizeOperations } from './authorize.operations.ts';
import { discoveryOperations } from './discovery.operations.ts';
import { registrationOperations } from './registration.operations.ts';
import { tokenOperations } from './token.operations.ts';

/** The OAuth 2.1 server: discovery, authorization, tokens, registration. */
export const oauth = area('Oauth', { ...discoveryOperations, ...authorizeOperations, ...tokenOperations, ...registrationOperations });
