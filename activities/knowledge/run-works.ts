import { exportBatch } from './export-run.ts';
import { importBatch } from './import-run.ts';
import { maintain } from './maintain.ts';
import { purgeBatch } from './purge-run.ts';
import type { RunWorks } from './run-activities.ts';

/** The function that does the batches of each kind of run. */
export const runWorks: RunWorks = { export: exportBatch, import: importBatch, maintenance: maintain, purge: purgeBatch };
