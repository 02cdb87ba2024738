export const orphan = 3;
