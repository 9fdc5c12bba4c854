/** The tool through which a model that cannot answer in JSON natively returns its result. It is never executed, and no frame shows it. */
export const resultToolSlug = 'emit_result';
