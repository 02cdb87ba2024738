import { Command, CommanderError } from 'commander';
import { addBrokerCommand } from './broker.ts';
import { addConsumeCommand } from './consume.ts';
import { addDeleteRecordsCommand } from './delete-records.ts';
import { addDumpLogCommand } from './dump-log.ts';
import { ExitCode } from './exit-codes.ts';
import { addGroupsCommands } from './groups.ts';
import { addProduceCommand } from './produce.ts';
import { addStatusCommand } from './status.ts';
import { addStopCommand } from './stop.ts';
import type { Terminal } from './terminal.ts';
import { addTopicsCommands } from './topics.ts';

/** Errors whose text is meant for the user as it is. */
function hasCode(error: unknown): error is Error & { code: string } {
  return error instanceof Error && typeof (error as { code?: unknown }).code === 'string';
}

const usageCodes = new Set(['CONFIG_INVALID', 'COMMAND_INVALID']);

/** Runs one command line (without `node` and the script) and resolves with the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('millrace')
    .description('a broker, its topics, records and groups, from the command line')
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
  let exitCode: number = ExitCode.ok;
  addTopicsCommands(program, terminal);
  addProduceCommand(program, terminal, (code) => {
    exitCode = code;
  });
  addConsumeCommand(program, terminal);
  addGroupsCommands(program, terminal);
  addDeleteRecordsCommand(program, terminal);
  addDumpLogCommand(program, terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    }
    if (!hasCode(error)) throw error;
    terminal.err(`millrace: ${error.message}`);
    return usageCodes.has(error.code) ? ExitCode.usage : ExitCode.failure;
  }
}
