import { connectRedis } from '../../../db/streams/redis.ts';
import { limitedModel, permitsOf, taken } from './world.ts';

// A process that takes a permit and keeps it: `node holder.ts <redis url> <prefix> <concurrency>`.
const [url = '', prefix = '', concurrency = '1'] = process.argv.slice(2);
const model = limitedModel('chat', { provider: { concurrency: Number(concurrency) } });
const permits = permitsOf(connectRedis(url, 'commands'), prefix, [model]);
await taken(permits, model);
process.stdout.write('held\n');
setInterval(() => undefined, 1_000);
