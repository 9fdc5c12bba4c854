/**
 * What one area alone works with, made from the process's dependencies when it is first asked for, and once for each process: `healthOf(ctx.deps)`. So a
 * new one changes its area and nothing that all share. Its type names what it is made from. What has to be closed at the end, or what several areas use,
 * stands in `Deps` instead.
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
