import { area } from '../http/operation/operation.ts';
import { meOperations } from './me.operations.ts';
import { mfaOperations } from './mfa.operations.ts';
import { passwordOperations } from './password.operations.ts';
import { serviceKeyOperations } from './service-keys.operations.ts';
import { signInOperations } from './sign-in.operations.ts';

/** Signing in and out, second factors, passwords, the caller's own account, and service keys. */
export const authentication = area('Authentication', {
  ...signInOperations,
  ...mfaOperations,
  ...meOperations,
  ...passwordOperations,
  ...serviceKeyOperations,
});
