import { QueryClient, queryOptions, timeoutManager } from '@tanstack/react-query';
import { ApiError } from '@longhaul/client';
import { api } from './api.ts';
import { pace } from './pace.ts';
import { isUnreachable } from './problem.ts';
import { session } from './session.ts';
import { impersonation, view } from './standing.ts';

// Views that look again every few seconds pass over turns while the API wants fewer requests.
timeoutManager.setTimeoutProvider({
  setTimeout: (callback, ms) => window.setTimeout(callback, ms),
  clearTimeout: (id) => window.clearTimeout(id),
  setInterval: (callback, ms) => {
    let lastAt = Date.now();
    return window.setInterval(() => {
      if (Date.now() - lastAt < pace.interval(ms) - ms / 2) return;
      lastAt = Date.now();
      callback();
    }, ms);
  },
  clearInterval: (id) => window.clearInterval(id),
});

/** What the console knows of the server, kept with its age while the server is away. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (count, error) => isUnreachable(error) || (error instanceof ApiError && error.retryable && count < 20),
      retryDelay: (count, error) => {
        const told = error instanceof ApiError ? error.retryAfterSeconds : null;
        return told ? told * 1_000 : Math.min(30_000, 1_000 * 2 ** count) * (0.75 + Math.random() / 2);
      },
      // Ours says whether the API answers; the browser's says whether there is a network.
      networkMode: 'always',
      refetchOnWindowFocus: true,
      // A value stays the object that the client gave: `etagOf` knows its version by it, and a merged copy would be written without If-Match.
      structuralSharing: false,
    },
    mutations: { networkMode: 'always' },
  },
});

session.onLeave(() => {
  // Whoever signs in next is nobody's stand-in.
  impersonation.end();
  view.set(null);
  queryClient.clear();
});
// As whom a tab asks, and of what, has changed: what it knew is another's.
impersonation.subscribe(() => queryClient.clear());

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => api.getMe({}, { signal }), staleTime: 30_000 });
/** The agents that can be seen, for choices and names. */
export const agentsQuery = queryOptions({
  queryKey: ['agents'],
  queryFn: ({ signal }) => api.listAgents({ limit: 200 }, { signal }),
  staleTime: 60_000,
});
export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: ({ signal }) => api.listWorkspaces({ limit: 200 }, { signal }),
  staleTime: 60_000,
});
