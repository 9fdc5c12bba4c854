/** The size allowance of a form besides its file: part headers, fields and boundaries. */
export const formOverheadBytes = 65_536;
