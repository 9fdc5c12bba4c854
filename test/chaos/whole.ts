/** Whether the whole fault matrix is played (`npm run test:chaos`); `npm test` plays one fault of each kind. */
export const isWholeMatrix = process.env['CHAOS_WHOLE'] === '1';
