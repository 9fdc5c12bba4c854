import type { Deprecation } from './http/openapi/deprecations.ts';

/** What of the contract is on its way out: nothing yet. In contract 0.x nothing is removed, even after its sunset. */
export const deprecations: readonly Deprecation[] = [];
