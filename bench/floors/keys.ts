/** Names in Redis of the bare worker. */
export function floorKeys(prefix: string) {
  return { frames: (id: string) => `${prefix}floor:${id}`, finished: `${prefix}floor-finished` };
}
