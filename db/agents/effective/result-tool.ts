/** The tool by which a model that can't answer in JSON by itself gives its result. It is never executed and no frame shows it. */
export const resultToolSlug = 'emit_result';
