// Loaded by processes that outlive a test file: they end when the Jest worker that has started them is gone, even killed.
process.stdin.on('end', () => process.exit()).on('error', () => process.exit());
process.stdin.resume();
process.stdin.unref?.();
