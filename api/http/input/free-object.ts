/** Bounds of an object whose fields are the client's own. */
export const freeObjectBounds = { bytes: 65_536, depth: 32, keys: 1_000 } as const;

export interface BoundFault {
  readonly keyword: 'max_depth' | 'maxProperties' | 'maxLength';
  readonly message: string;
  readonly params: Record<string, unknown>;
}

/** The first bound that a parsed value breaks; null when it keeps all. */
export function faultOfFreeObject(value: unknown): BoundFault | null {
  const fault = faultInside(value, 0);
  if (fault) return fault;

  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
  if (bytes <= freeObjectBounds.bytes) return null;
  return {
    keyword: 'maxLength',
    message: `must be at most ${freeObjectBounds.bytes} bytes of JSON`,
    params: { limit: freeObjectBounds.bytes },
  };
}

function faultInside(value: unknown, depth: number): BoundFault | null {
  if (typeof value !== 'object' || value === null) return null;
  if (depth === freeObjectBounds.depth)
    return {
      keyword: 'max_depth',
      message: `must be at most ${freeObjectBounds.depth} levels deep`,
      params: { limit: freeObjectBounds.depth },
    };

  const children = Object.values(value);
  if (!Array.isArray(value) && children.length > freeObjectBounds.keys) {
    return {
      keyword: 'maxProperties',
      message: `must have at most ${freeObjectBounds.keys} keys`,
      params: { limit: freeObjectBounds.keys },
    };
  }
  for (const child of children) {
    const fault = faultInside(child, depth + 1);
    if (fault) return fault;
  }
  return null;
}
