import { Longhaul, type components } from '@longhaul/client';
import { sessionFetch } from './transport.ts';

export type Views = components['schemas'];

/** The API, as whoever is signed in. Tries that fail are repeated by the client for a while; what shows a view asks on after that. */
export const api = new Longhaul({ baseUrl: location.origin, fetch: sessionFetch, deadlineMs: 30_000, onDeprecation: () => undefined });
