/** The id that says "none": sixteen zero bytes. */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA';
