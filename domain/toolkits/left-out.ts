import type { LeftOut } from '../../db/toolkits/left-out.ts';

const maxReported = 200;
const limitText = 500;

/** How a revision tells what it left out: all in one text, and one by one as far as they are told. */
export function toldLeftOut(leftOut: readonly LeftOut[]) {
  const text = `Left out: ${leftOut.map(({ name, reason }) => `${name} ${reason}`).join('; ')}`;
  return {
    error: leftOut.length === 0 ? null : text.slice(0, limitText).toWellFormed(),
    leftOut: leftOut.slice(0, maxReported),
  };
}
