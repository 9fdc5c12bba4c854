import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Files that took over 15 s, in seconds, for a checkout that has not run them yet; any other counts by its size. */
const known = {
  'test/chaos/worker-killed.test.ts': 119,
  'test/workflows/purge.test.ts': 110,
  'test/chaos/services.test.ts': 91,
  'test/workflows/schedules.test.ts': 80,
  'test/e2e/tools.test.ts': 75,
  'test/workflows/agent-layers.test.ts': 45,
  'test/workflows/toolkit-sync.test.ts': 44,
  'test/cli/up.test.ts': 41,
  'test/access/foreign.test.ts': 41,
  'test/workflows/delivery-killed.test.ts': 40,
  'test/e2e/tool-secrets.test.ts': 40,
  'test/workflows/stop.test.ts': 38,
  'test/e2e/code-exec.test.ts': 37,
  'test/api/attachments/memory.test.ts': 36,
  'test/workflows/attachments.test.ts': 36,
  'test/e2e/web-tools.test.ts': 34,
  'test/workflows/audit-seal.test.ts': 31,
  'test/ports/sandbox.test.ts': 30,
  'test/chaos/api-killed.test.ts': 30,
  'test/workflows/skills.test.ts': 25,
  'test/e2e/runs.test.ts': 24,
  'test/api/mcp/conformance.test.ts': 24,
  'test/streams/redis-faults.test.ts': 22,
  'test/e2e/models.test.ts': 20,
  'test/ports/sandbox-strict.test.ts': 20,
  'test/cli/services.test.ts': 19,
  'test/cli/audit.test.ts': 19,
  'test/e2e/streams.test.ts': 18,
  'test/workflows/due.test.ts': 18,
};

/** The longest first, so that none is left alone at the end; before all others those that failed the last time. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = (test) => (this.hasFailed(test) ? Infinity : this.#seconds(test));
    return tests
      .map((test) => ({ test: { ...test, duration: this.time(test) }, rank: rank(test) }))
      .toSorted((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank))
      .map(({ test }) => test);
  }

  #seconds(test) {
    const { context, path } = test;
    const ms = this.time(test);
    if (ms) return ms / 1_000;
    return known[relative(context.config.rootDir, path)] ?? (context.hasteFS.getSize(path) ?? 0) / 10_000;
  }
}
