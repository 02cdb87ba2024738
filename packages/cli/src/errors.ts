/** What a command could not do, in words for its user. */
export class CommandError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandError';
    this.code = code;
  }
}

/** Options that contradict each other, or say something that cannot be; nothing was done. */
export function invalidCommand(message: string): CommandError {
  return new CommandError('COMMAND_INVALID', message);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
