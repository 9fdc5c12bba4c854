import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Files that took over 15 s, in seconds, for a checkout that has not run them yet; any other counts by its size. */
const known = {
  'test/chaos/mixed.test.ts': 134,
  'test/e2e/temporal-lost.test.ts': 120,
  'test/workflows/worker-lost.test.ts': 115,
  'test/chaos/worker-killed.test.ts': 129,
  'test/e2e/approval-waits.test.ts': 122,
  'test/chaos/frozen.test.ts': 117,
  'test/chaos/services.test.ts': 111,
  'test/chaos/child-killed.test.ts': 109,
  'test/workflows/purge.test.ts': 89,
  'test/workflows/schedules.test.ts': 75,
  'test/workflows/bulk-cancel.test.ts': 75,
  'test/workflows/budget.test.ts': 72,
  'test/e2e/tools.test.ts': 71,
  'test/ports/work-pool.test.ts': 61,
  'test/metrics/processes.test.ts': 59,
  'test/access/foreign.test.ts': 58,
  'test/api/endings/ending-access.test.ts': 57,
  'test/workflows/stop.test.ts': 53,
  'test/cli/up.test.ts': 52,
  'test/streams/hub.test.ts': 51,
  'test/api/attachments/memory.test.ts': 48,
  'test/ports/hostile-work.test.ts': 47,
  'test/chaos/frozen-postgres.test.ts': 46,
  'test/workflows/agent-layers.test.ts': 44,
  'test/workflows/toolkit-sync.test.ts': 44,
  'test/e2e/frozen.test.ts': 43,
  'test/workflows/delivery-killed.test.ts': 42,
  'test/workflows/agent-run-history.test.ts': 41,
  'test/e2e/code-exec.test.ts': 41,
  'test/e2e/steering.test.ts': 40,
  'test/access/frozen.test.ts': 40,
  'test/db/pg-silence.test.ts': 40,
  'test/e2e/told-results.test.ts': 39,
  'test/access/predicates.test.ts': 38,
  'test/e2e/tool-secrets.test.ts': 36,
  'test/access/table.test.ts': 36,
  'test/workflows/waits-model.test.ts': 35,
  'test/api/runs/live-runs.test.ts': 34,
  'test/workflows/attachments.test.ts': 33,
  'test/e2e/web-tools.test.ts': 32,
  'test/ports/sandbox.test.ts': 30,
  'test/workflows/skills.test.ts': 29,
  'test/access/rollback.test.ts': 29,
  'test/workflows/audit-seal.test.ts': 29,
  'test/api/operator/streams.test.ts': 28,
  'test/sub-agents/gated.test.ts': 28,
  'test/e2e/late-tries.test.ts': 28,
  'test/sub-agents/client-calls.test.ts': 28,
  'test/sub-agents/ends.test.ts': 27,
  'test/api/mcp/clients.test.ts': 27,
  'test/workflows/due.test.ts': 26,
  'test/access/itself.test.ts': 26,
  'test/workflows/agent-run-children.test.ts': 25,
  'test/chaos/api-killed.test.ts': 25,
  'test/api/http/walk.test.ts': 21,
  'test/contract/lint.test.ts': 20,
  'test/e2e/runs.test.ts': 19,
  'test/workflows/agent-run-waits.test.ts': 18,
  'test/api/mcp/conformance.test.ts': 18,
  'test/cli/audit.test.ts': 17,
  'test/e2e/approvals.test.ts': 17,
  'test/workflows/agent-run.test.ts': 17,
  'test/api/mcp/toolkits.test.ts': 17,
  'test/e2e/streams.test.ts': 16,
  'test/ports/sandbox-strict.test.ts': 16,
  'test/api/system/server.test.ts': 16,
  'test/streams/redis-faults.test.ts': 16,
  'test/access/outgoing.test.ts': 15,
  'test/cli/users.test.ts': 15,
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
