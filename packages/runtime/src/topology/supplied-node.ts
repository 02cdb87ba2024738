import { TopologyError } from '../errors.ts';
import { ProcessOperator } from '../operators/process.ts';
import type {
  FixedKeyProcessorSupplier,
  Processor,
  ProcessorSupplier,
} from '../operators/processor-api.ts';
import { ProcessorNode } from '../operators/processor-node.ts';
import type { StoreBuilder } from '../state/store.ts';

type AnySupplier =
  | ProcessorSupplier<never, never, unknown, unknown>
  | FixedKeyProcessorSupplier<never, never, unknown>
  | ((name: string) => ProcessorNode);

/** A supplier as the topology needs it. */
export interface SuppliedNode {
  /** Makes one task's node. */
  readonly create: (name: string) => ProcessorNode;
  readonly stores: readonly StoreBuilder[];
}

/**
 * Looks at a supplier: it must make a new processor at each call, or tasks would share one. Two are
 * made for that, and not used, as Kafka Streams does.
 */
export function suppliedNode(
  supplier: AnySupplier,
  what: string,
  keepsKeys: boolean,
): SuppliedNode {
  const get: (name: string) => unknown =
    typeof supplier === 'function' ? supplier : () => supplier.get();
  const first = get(what);
  if (!isProcessor(first)) {
    throw new TopologyError(
      `The supplier of ${what} returned no processor: it must return an object with a function process(record).`,
    );
  }
  if (first === get(what)) {
    throw new TopologyError(
      `The supplier of ${what} returned the same processor twice: it must make a new one at each call, because ` +
        'every task has its own.',
    );
  }
  return {
    create: (name) => {
      const made = get(name);
      if (made instanceof ProcessorNode) return made;
      return new ProcessOperator(name, made as Processor<unknown, unknown>, keepsKeys);
    },
    stores: typeof supplier === 'function' ? [] : (supplier.stores?.() ?? []),
  };
}

function isProcessor(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { process?: unknown }).process === 'function'
  );
}
