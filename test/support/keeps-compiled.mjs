import { flushCompileCache } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Loaded by the processes of deployments under test: those that are killed would never write what they have compiled, and all that follow would compile
// it anew, for a third of what a start takes. Where all of it is written already this does nothing.
if (isMainThread) for (const afterMs of [5_000, 20_000]) setTimeout(flushCompileCache, afterMs).unref();
