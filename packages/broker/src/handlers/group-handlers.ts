import type { HandlerRegistry } from './registry.ts';

/** Registers the handlers of the classic group protocol and of group offsets. */
export function registerGroupHandlers(registry: HandlerRegistry): void {
  void registry;
}
