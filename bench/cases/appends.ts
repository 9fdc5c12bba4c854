import type { Bench } from '../harness/bench.ts'; export const appends: Bench = { name: 'appends', about: '', run: async () => ({ findings: [], gates: [] }) };
