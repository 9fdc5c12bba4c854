import { createInterface } from 'node:readline/promises';
import { connect } from './connect.ts';

// A chat in the terminal: each line is a run of the same conversation, whose answer is printed as it is written.
const { longhaul, agent } = connect();
const conversation = process.argv[2] ?? `terminal-${crypto.randomUUID()}`;
const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });

lines.prompt();
for await (const line of lines) {
  if (line.trim() !== '') {
    const run = await longhaul.start({ agent_slug: agent, session_key: conversation, input: { text: line } });
    for await (const piece of run.text()) process.stdout.write(piece);
    const { status, error } = await run.wait();
    process.stdout.write(status === 'succeeded' ? '\n' : `\n[${status}${error ? `: ${error.message}` : ''}]\n`);
  }
  lines.prompt();
}
