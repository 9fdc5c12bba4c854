import type { Bench } from '../harness/bench.ts'; export const delivery: Bench = { name: 'delivery', about: '', run: async () => ({ findings: [], gates: [] }) };
