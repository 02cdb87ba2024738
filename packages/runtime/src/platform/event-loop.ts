/** Lets sockets, timers and heartbeats run, then goes on; injected, so that tests can step it. */
export type YieldToEventLoop = () => Promise<void>;

export const yieldToEventLoop: YieldToEventLoop = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
