#!/usr/bin/env node
import { ExitCode } from './exit-codes.ts';
import { run } from './program.ts';
import { processTerminal } from './terminal.ts';

const terminal = processTerminal();
const exitCode = await run(process.argv.slice(2), terminal);
if (terminal.failure === null) {
  process.exitCode = exitCode;
} else {
  terminal.err(`millrace: The output could not be written: ${terminal.failure.message}`);
  process.exitCode = ExitCode.failure;
}
