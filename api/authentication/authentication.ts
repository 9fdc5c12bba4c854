import { area } from '../http/operation.ts';
import { meOperations } from './me.operations.ts';
import { serviceKeyOperations } from './service-keys.operations.ts';
import { signInOperations } from './sign-in.operations.ts';

/** Signing in and out, who one is, and the keys of back ends. */
export const authentication = area('Authentication', { ...signInOperations, ...meOperations, ...serviceKeyOperations });
