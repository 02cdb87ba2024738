import type { Command } from 'commander';
import { dataTypes, type DataType } from './data-types.ts';

export interface TypeOptions {
  readonly keyType: string;
  readonly valueType: string;
}

/** `--key-type` and `--value-type` */
export function addTypeOptions(command: Command): Command {
  const names = [...dataTypes.keys()];
  return command
    .addOption(
      command.createOption('--key-type <type>', 'what keys are').choices(names).default('text'),
    )
    .addOption(
      command.createOption('--value-type <type>', 'what values are').choices(names).default('text'),
    );
}

export function typesOf(options: TypeOptions): {
  readonly key: DataType;
  readonly value: DataType;
} {
  return {
    key: dataTypes.get(options.keyType) as DataType,
    value: dataTypes.get(options.valueType) as DataType,
  };
}
