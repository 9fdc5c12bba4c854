// Entry of the workflow bundle: the exported names are the workflow types that histories record. Never rename one.
export { agentRun } from './agent-run/agent-run.ts';
export { httpSweep } from './maintenance/http-sweep.ts';
export { reconcile } from './maintenance/reconcile.ts';
export { tendArchives } from './maintenance/tend-archives.ts';
