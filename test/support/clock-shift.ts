// Preloaded into a process of a test deployment (`node --import`): lets its clock jump while it runs. The offset in milliseconds stands in a
// file named after the process's port; what the rest of the machine shows as time is left alone. What the clock shows by now stands in `<port>.shown`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const folder = process.env['CLOCK_SHIFT_DIR'];

if (isMainThread && folder !== undefined) {
  const file = join(folder, process.env['PORT'] ?? 'none');
  const RealDate = Date;
  const realNow = Date.now;
  let offsetMs = 0;

  const asked = () => {
    try {
      return Number(readFileSync(file, 'utf8')) || 0;
    } catch {
      return 0;
    }
  };
  const read = () => {
    const askedMs = asked();
    if (askedMs === offsetMs) return;
    offsetMs = askedMs;
    try {
      writeFileSync(`${file}.shown`, String(offsetMs));
    } catch {
      // The folder goes with its test.
    }
  };
  read();
  setInterval(read, 100).unref();

  // A Date without arguments is now; everything else of it stays as it is.
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [realNow() + offsetMs] : args, newTarget) as object,
    apply: () => new RealDate(realNow() + offsetMs).toString(),
    get: (target, key, receiver) => (key === 'now' ? () => realNow() + offsetMs : (Reflect.get(target, key, receiver) as unknown)),
  });
}
