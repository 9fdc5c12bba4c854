import { setUp } from './support/services.ts';
import { startApi } from './support/api.ts';
import { bearer, makeTenant } from './support/tenant.ts';
import { spawn } from 'node:child_process';
import Fastify from 'fastify';
import pg from 'pg';
await setUp();
const api = await startApi({ env: { RATE_LIMITS: 'principal=1000000/60,workspace=1000000/60' } });
const t = await makeTenant(api.db, api.keys);
const made = await api.app.inject({ method: 'POST', url: '/agents', headers: bearer(t.tokens.admin), payload: { slug: 'x', name: 'X' } });
const id = made.json().id;
const pool = new pg.Pool({ connectionString: api.database.adminUrl, max: 5 }); pool.on('error', () => undefined);
const bare = Fastify();
bare.get('/agents/:id', async (req: any) => (await pool.query('select * from agents where id = $1', [req.params.id])).rows[0]);
const bareUrl = await bare.listen({ port: 0, host: '127.0.0.1' });
async function load(url: string, headers: Record<string,string>, n: number) {
  const client = `const http=require('http');const a=new http.Agent({keepAlive:true,maxSockets:8});let left=${n},busy=0;function go(){ if(left--<=0){ if(busy===0)process.exit(); return;} busy++; http.get(${JSON.stringify(url)},{agent:a,headers:${JSON.stringify(headers)}},r=>{r.resume();r.on('end',()=>{busy--;go(); if(left<0&&busy===0)process.exit();});});} for(let i=0;i<8;i++)go();`;
  const before = process.cpuUsage(); const w = performance.now();
  await new Promise((r) => spawn(process.execPath, ['-e', client]).on('exit', r));
  const used = process.cpuUsage(before);
  return { cpuUsPer: (used.user + used.system) / n, wallMs: performance.now() - w };
}
for (let i = 0; i < 3; i++) {
  console.log('ours', await load(`${api.url}/agents/${id}`, bearer(t.tokens.viewer), 3000));
  console.log('version', await load(`${api.url}/version`, bearer(t.tokens.viewer), 3000));
  console.log('errorcodes', await load(`${api.url}/health/live`, {}, 3000));
  console.log('bare', await load(`${bareUrl}/agents/${id}`, {}, 3000));
}
await pool.end(); await bare.close(); await api.close(); process.exit();
