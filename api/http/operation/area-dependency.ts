/**
 * A dependency of one area, created from the process's dependencies at its first use, once for each process: `healthOf(ctx.deps)`. A new one changes its area
 * and nothing that areas share. Its type names what it is created from. A dependency that must be closed, or that several areas use, belongs in `Deps`.
 */
export function areaDependency<From extends object, D extends object>(create: (deps: From) => D): (deps: From) => D {
  const made = new WeakMap<From, D>();
  return (deps) => {
    const known = made.get(deps);
    if (known) return known;

    const fresh = create(deps);
    made.set(deps, fresh);
    return fresh;
  };
}
