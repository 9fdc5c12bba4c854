import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between us and a service, to cut the line or let packets vanish. */
export interface TcpProxy {
  readonly port: number;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /** Passes nothing on in either direction, and closes nothing. */
  freeze(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function openProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let mode: 'open' | 'cut' | 'frozen' = 'open';

  const server = createServer((near) => {
    if (mode === 'cut') return void near.destroy();
    const far = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => mode === 'open' && to.write(bytes));
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        if (mode !== 'frozen') to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const end = () => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      mode = 'cut';
      end();
    },
    freeze: () => void (mode = 'frozen'),
    restore() {
      // What a frozen line held back is gone for good.
      if (mode === 'frozen') end();
      mode = 'open';
    },
    async close() {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
