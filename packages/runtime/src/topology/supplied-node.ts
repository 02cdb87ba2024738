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

/** The node of a global store has that one store: no task is there that could have others. */
export function refuseOtherStores(name: string, stores: readonly StoreBuilder[]): void {
  if (stores.length === 0) return;
  const names = stores.map((store) => store.name).join(', ');
  throw new TopologyError(
    `The processor ${name} fills a global store, but its supplier brings other stores (${names}): it can write the ` +
      'global store only, so add no others.',
  );
}

function isProcessor(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { process?: unknown }).process === 'function'
  );
}
