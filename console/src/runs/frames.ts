import type { components } from '@longhaul/client';

export type Views = components['schemas'];
/** One frame of a run's stream. */
export type Frame = Views['Frame'];
