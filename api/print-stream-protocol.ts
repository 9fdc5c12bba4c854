import { streamProtocolView } from './streams/protocol.ts';

// What GET /stream-protocol serves, for the generators of clients.
process.stdout.write(`${JSON.stringify(streamProtocolView(), null, 2)}\n`);
