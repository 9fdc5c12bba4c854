import { isMainThread } from 'node:worker_threads';

// Loaded by processes that outlive a test file: they end when the Jest worker that has started them is gone, even killed. Their threads load it too.
if (isMainThread) {
  process.stdin.on('end', () => process.exit()).on('error', () => process.exit());
  process.stdin.resume();
  process.stdin.unref?.();
}
