/** What the shell is told. */
export const ExitCode = {
  ok: 0,
  failure: 1,
  /** Wrong options or configuration: nothing was done. */
  usage: 2,
} as const;
