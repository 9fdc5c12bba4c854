// Preloaded into a process under measurement (`node --import`): answers over a socket what its heap and buffers hold after a collection.
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const path = process.env['MEMORY_PROBE'];

if (isMainThread && path !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // the flag puts it into every new context
  createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      collect();
      // Buffers that the first pass has let go of are freed by a second one.
      setImmediate(() => {
        collect();
        const { heapUsed, external } = process.memoryUsage();
        socket.end(String(heapUsed + external));
      });
    });
  })
    .listen(path)
    .unref();
}
