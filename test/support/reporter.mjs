/**
 * Says nothing while all is well: failures as they come, then one last line, `N passed, N failed, N skipped`. A file that could not
 * run counts as one failure; a run in which no test ran fails.
 */
export default class QuietReporter {
  #counts = { passed: 0, failed: 0, skipped: 0 };
  #startedAt = Date.now();

  onRunStart() {
    // Whatever Jest or a library writes at the end comes before this line.
    process.once('exit', () => {
      const { passed, failed, skipped } = this.#counts;
      process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    });
  }

  onTestResult(_test, result) {
    this.#counts.passed += result.numPassingTests;
    this.#counts.failed += result.numFailingTests + (result.testExecError ? 1 : 0);
    this.#counts.skipped += result.numPendingTests + result.numTodoTests;

    if (result.failureMessage) process.stdout.write(`${result.testFilePath}\n${result.failureMessage}\n${printed(result.console)}\n`);
    if (process.env.TEST_TIMES)
      process.stdout.write(`${((Date.now() - result.perfStats.start) / 1000).toFixed(1)} s ${result.testFilePath}\n`);
  }

  onRunComplete() {
    if (process.env.TEST_TIMES) process.stdout.write(`${((Date.now() - this.#startedAt) / 1000).toFixed(1)} s in all\n`);
  }

  getLastError() {
    const { passed, failed } = this.#counts;
    return passed + failed === 0 ? new Error('No test ran') : undefined;
  }
}

function printed(entries) {
  return (entries ?? []).map((entry) => `${entry.type}: ${entry.message}`).join('\n');
}
