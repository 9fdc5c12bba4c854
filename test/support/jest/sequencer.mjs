import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Files that took over 15 s, in seconds, for a checkout that has not run them yet; any other counts by its size. */
const known = {
  'test/workflows/worker-lost.test.ts': 120,
  'test/chaos/mixed.test.ts': 115,
  'test/chaos/services.test.ts': 110,
  'test/e2e/approval-waits.test.ts': 99,
  'test/chaos/worker-killed.test.ts': 93,
  'test/e2e/frozen.test.ts': 86,
  'test/workflows/budget.test.ts': 79,
  'test/chaos/temporal-lost.test.ts': 78,
  'test/api/endings/ending-access.test.ts': 75,
  'test/workflows/bulk-cancel.test.ts': 69,
  'test/workflows/schedules.test.ts': 68,
  'test/workflows/purge.test.ts': 68,
  'test/e2e/tools.test.ts': 65,
  'test/workflows/stop.test.ts': 61,
  'test/e2e/tool-secrets.test.ts': 61,
  'test/cli/up.test.ts': 59,
  'test/e2e/web-tools.test.ts': 57,
  'test/streams/hub.test.ts': 56,
  'test/chaos/frozen-postgres.test.ts': 55,
  'test/ports/work-pool.test.ts': 54,
  'test/cli/processes.test.ts': 52,
  'test/chaos/child-killed.test.ts': 50,
  'test/ports/sandbox.test.ts': 50,
  'test/workflows/toolkit-sync.test.ts': 50,
  'test/db/pg-silence.test.ts': 49,
  'test/api/attachments/memory.test.ts': 48,
  'test/workflows/agent-layers.test.ts': 46,
  'test/api/runs/live-runs.test.ts': 45,
  'test/cli/lean-install.test.ts': 45,
  'test/cli/strange-state.test.ts': 44,
  'test/workflows/delivery-killed.test.ts': 42,
  'test/ports/hostile-work.test.ts': 41,
  'test/workflows/attachments.test.ts': 40,
  'test/workflows/waits-model.test.ts': 40,
  'test/metrics/processes.test.ts': 38,
  'test/workflows/audit-seal.test.ts': 38,
  'test/access/itself.test.ts': 37,
  'test/access/foreign.test.ts': 37,
  'test/access/table.test.ts': 37,
  'test/e2e/told-results.test.ts': 36,
  'test/e2e/steering.test.ts': 33,
  'test/sub-agents/ends.test.ts': 31,
  'test/workflows/published-mcp-servers.test.ts': 30,
  'test/api/http/walk.test.ts': 30,
  'test/access/rollback.test.ts': 30,
  'test/workflows/agent-run-children.test.ts': 29,
  'test/api/mcp/clients.test.ts': 29,
  'test/access/frozen.test.ts': 29,
  'test/api/operator/streams.test.ts': 28,
  'test/e2e/code-exec.test.ts': 28,
  'test/cli/seed.test.ts': 28,
  'test/access/predicates.test.ts': 27,
  'test/sub-agents/client-calls.test.ts': 27,
  'test/workflows/agent-run-history.test.ts': 26,
  'test/workflows/due.test.ts': 25,
  'test/contract/lint.test.ts': 25,
  'test/api/mcp/batch.test.ts': 24,
  'test/api/system/health.test.ts': 24,
  'test/workflows/worker-process.test.ts': 24,
  'test/e2e/late-tries.test.ts': 24,
  'test/metrics/deployment.test.ts': 23,
  'test/cli/audit.test.ts': 22,
  'test/ports/sandbox-strict.test.ts': 22,
  'test/chaos/api-killed.test.ts': 21,
  'test/e2e/untrusted-work.test.ts': 21,
  'test/workflows/agent-run-waits.test.ts': 20,
  'test/api/mcp/conformance.test.ts': 20,
  'test/workflows/given-up.test.ts': 19,
  'test/api/endings/waiting.test.ts': 19,
  'test/e2e/models.test.ts': 19,
  'test/streams/redis-faults.test.ts': 18,
  'test/streams/stalled.test.ts': 18,
  'test/workflows/skills.test.ts': 18,
  'test/api/mcp/toolkits.test.ts': 17,
  'test/sub-agents/gated.test.ts': 17,
  'test/workflows/strange-database.test.ts': 16,
  'test/e2e/mails.test.ts': 16,
  'test/cli/services.test.ts': 16,
  'test/api/oauth/consent-page.test.ts': 16,
  'test/e2e/code-samples.test.ts': 15,
  'test/e2e/approval-consent.test.ts': 15,
  'test/cli/users.test.ts': 15,
  'test/streams/openings.test.ts': 15,
  'test/sub-agents/handed.test.ts': 15,
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
