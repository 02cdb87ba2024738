/** What the shell is told. */
export const ExitCode = {
  ok: 0,
  /** Something was not done, or not all of it; or damage was found. */
  failure: 1,
  /** Wrong options or configuration: nothing was done. */
  usage: 2,
  /** Ctrl-C came before the work was done, as shells count it. */
  interrupted: 130,
} as const;
