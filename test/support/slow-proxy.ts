import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a service that can grow slow. */
export interface SlowProxy {
  readonly port: number;
  /** How long each piece is held back, in either direction; 0 passes it on at once. */
  delayMs: number;
  close(): Promise<void>;
}

interface Held {
  readonly bytes: Buffer;
  readonly dueAt: number;
}

export async function startSlowProxy(targetPort: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    }
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: SlowProxy = {
    port: (server.address() as AddressInfo).port, // listening on TCP
    delayMs: 0,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };

  /** Pieces keep their order, also when the delay changes; an end comes behind them. */
  function pass(from: Socket, to: Socket): void {
    const held: Held[] = [];
    let timer: NodeJS.Timeout | null = null;
    let isEnded = false;
    const send = () => {
      timer = null;
      for (let first = held[0]; first && first.dueAt <= performance.now(); first = held[0]) {
        held.shift();
        if (!to.write(first.bytes)) from.pause();
      }
      const [next] = held;
      if (next) timer = setTimeout(send, Math.max(1, next.dueAt - performance.now()));
      else if (isEnded) to.destroy();
    };
    from.on('data', (bytes: Buffer) => {
      if (proxy.delayMs === 0 && held.length === 0) return void (to.write(bytes) || from.pause());
      held.push({ bytes, dueAt: performance.now() + proxy.delayMs });
      timer ??= setTimeout(send, Math.max(1, proxy.delayMs));
    });
    to.on('drain', () => from.resume());
    from.on('close', () => {
      isEnded = true;
      if (held.length === 0) to.destroy();
    });
  }

  return proxy;
}
