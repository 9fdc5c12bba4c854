import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a service that can be cut and mended: what stands behind it is left alone. */
export interface TcpProxy {
  readonly port: number;
  /** Where connections that come from now on lead. */
  target: { readonly host: string; readonly port: number };
  /** Ends every connection and refuses new ones. */
  cut(): void;
  mend(): void;
  /** Takes connections and bytes, and passes nothing on until `thaw`: as a machine that is frozen. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

interface Way {
  readonly inbound: Socket;
  readonly outbound: Socket;
}

function join({ inbound, outbound }: Way): void {
  inbound.pipe(outbound).pipe(inbound);
}

export async function startTcpProxy(target: TcpProxy['target']): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const ways = new Set<Way>();
  let isTruncated = false;
  let isFrozen = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };

  const server = createServer((inbound) => {
    if (isTruncated) return inbound.destroy();
    const outbound = connect(proxy.target.port, proxy.target.host);
    keep(inbound);
    keep(outbound);
    const way = { inbound, outbound };
    ways.add(way);
    if (!isFrozen) join(way);
    inbound.on('close', () => outbound.destroy());
    outbound.on('close', () => {
      ways.delete(way);
      inbound.destroy();
    });
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port, // a TCP server has a port
    target,
    cut: () => {
      isTruncated = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => {
      isTruncated = false;
    },
    freeze: () => {
      isFrozen = true;
      for (const { inbound, outbound } of ways) {
        inbound.unpipe(outbound);
        outbound.unpipe(inbound);
      }
    },
    thaw: () => {
      if (!isFrozen) return;
      isFrozen = false;
      for (const way of ways) join(way);
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return proxy;
}
