import { area } from '../http/operation.ts';

/** Login device families: the caller's own devices and connected apps. */
export const sessions = area('Sessions', {});
