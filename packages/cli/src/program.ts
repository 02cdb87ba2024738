import { Command, CommanderError } from 'commander';
import { ExitCode } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** Tells an exit code other than that of success, without an error. */
type Exit = (code: number) => void;

/**
 * In the order of the help. Only the command that is named is loaded: a broker and a client take
 * longer to load than most commands to run.
 */
const commands: Readonly<
  Record<string, (program: Command, terminal: Terminal, exit: Exit) => Promise<void>>
> = {
  broker: async (program, terminal) => {
    (await import('./broker.ts')).addBrokerCommand(program, terminal);
  },
  status: async (program, terminal) => {
    (await import('./status.ts')).addStatusCommand(program, terminal);
  },
  stop: async (program, terminal) => {
    (await import('./stop.ts')).addStopCommand(program, terminal);
  },
  topics: async (program, terminal) => {
    (await import('./topics.ts')).addTopicsCommands(program, terminal);
  },
  produce: async (program, terminal, exit) => {
    (await import('./produce.ts')).addProduceCommand(program, terminal, exit);
  },
  consume: async (program, terminal) => {
    (await import('./consume.ts')).addConsumeCommand(program, terminal);
  },
  groups: async (program, terminal) => {
    (await import('./groups.ts')).addGroupsCommands(program, terminal);
  },
  describe: async (program, terminal) => {
    (await import('./describe.ts')).addDescribeCommand(program, terminal);
  },
  reset: async (program, terminal) => {
    (await import('./reset.ts')).addResetCommand(program, terminal);
  },
  'delete-records': async (program, terminal) => {
    (await import('./delete-records.ts')).addDeleteRecordsCommand(program, terminal);
  },
  clean: async (program, terminal) => {
    (await import('./clean.ts')).addCleanCommand(program, terminal);
  },
  'dump-log': async (program, terminal) => {
    (await import('./dump-log.ts')).addDumpLogCommand(program, terminal);
  },
};

const usageCodes = new Set(['CONFIG_INVALID', 'COMMAND_INVALID', 'LOG_CONFIG_INVALID']);

/** Errors whose text is meant for the user as it is. */
function hasCode(error: unknown): error is Error & { code: string } {
  return error instanceof Error && typeof (error as { code?: unknown }).code === 'string';
}

/** Runs one command line (without `node` and the script) and resolves with the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('millrace')
    .description(
      'a broker, its topics, records and groups, and stream applications, from the command line',
    )
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
  let exitCode: number = ExitCode.ok;
  const named = Object.entries(commands).filter(([name]) => name === args[0]);
  for (const [, add] of named.length > 0 ? named : Object.entries(commands)) {
    await add(program, terminal, (code) => {
      exitCode = code;
    });
  }
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
