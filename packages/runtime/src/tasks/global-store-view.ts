import { TopologyError } from '../errors.ts';
import type { StateStore } from '../state/store.ts';

/** Methods that change a store, or that are the business of who owns it. */
const CHANGES =
  /^(?:put|delete|remove|merge|open|close|restore|commit$|flush|evict|write|set|clear)/;

type Method = (a: unknown, b: unknown, c: unknown, d: unknown, e: unknown) => unknown;

/**
 * A global store as tasks see it: every method of the store that reads, always of the store that is
 * `current`, which a restoration from the beginning replaces as a whole. What would change it is
 * refused: only the global topic does.
 */
export function globalStoreView(name: string, current: () => StateStore): StateStore {
  const view = {};
  for (const [property, descriptor] of propertiesOf(current())) {
    const method = descriptor.value as unknown;
    if (typeof method !== 'function') {
      Object.defineProperty(view, property, {
        enumerable: true,
        get: () => (current() as unknown as Record<string, unknown>)[property],
      });
    } else if (CHANGES.test(property)) {
      Object.defineProperty(view, property, { value: refusal(name, property) });
    } else {
      Object.defineProperty(view, property, { value: delegate(current, method as Method) });
    }
  }
  return view as StateStore;
}

/** No store's method takes more than five arguments; nothing is made per call. */
function delegate(current: () => StateStore, method: Method): Method {
  return (a, b, c, d, e) => method.call(current(), a, b, c, d, e);
}

function refusal(name: string, property: string): () => never {
  return () => {
    throw new TopologyError(
      `${property}() is not for the tasks of this application: the global store ${name} is filled from its topic only. ` +
        'Write to the topic instead.',
      { context: { store: name } },
    );
  };
}

/** Of the object and its classes; what a class overrides counts. */
function propertiesOf(store: object): Map<string, PropertyDescriptor> {
  const found = new Map<string, PropertyDescriptor>();
  let at: object | null = store;
  while (at !== null && at !== Object.prototype) {
    for (const [property, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (property !== 'constructor' && !found.has(property)) found.set(property, descriptor);
    }
    at = Object.getPrototypeOf(at) as object | null;
  }
  return found;
}
