import { Command, CommanderError } from 'commander';
import { addBrokerCommand } from './broker.ts';
import { ExitCode } from './exit-codes.ts';
import { addStatusCommand } from './status.ts';
import { addStopCommand } from './stop.ts';
import type { Terminal } from './terminal.ts';

/** Errors whose text is meant for the user as it is. */
function hasCode(error: unknown): error is Error & { code: string } {
  return error instanceof Error && typeof (error as { code?: unknown }).code === 'string';
}

/** Runs one command line (without `node` and the script) and resolves with the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('millrace')
    .description('the Millrace log store and broker from the command line')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        terminal.out(text.trimEnd());
      },
      writeErr: (text) => {
        terminal.err(text.trimEnd());
      },
    })
    .showHelpAfterError('(--help shows the options)')
    .showSuggestionAfterError();
  addBrokerCommand(program, terminal);
  addStatusCommand(program, terminal);
  addStopCommand(program, terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    return ExitCode.ok;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    }
    if (!hasCode(error)) throw error;
    terminal.err(`millrace: ${error.message}`);
    return error.code === 'CONFIG_INVALID' ? ExitCode.usage : ExitCode.failure;
  }
}
