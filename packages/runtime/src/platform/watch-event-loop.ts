import { performance } from 'node:perf_hooks';

/** Ends a watch. */
export interface EventLoopWatch {
  stop(): void;
}

/**
 * Looks every `intervalMs` how late it comes because something held up the event loop; keeps no process
 * alive. Node's own monitorEventLoopDelay has no use here: it forgets what was going on at each reset.
 */
export function watchEventLoop(
  intervalMs: number,
  onLook: (lateMs: number) => void,
): EventLoopWatch {
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    onLook(Math.max(nowMs - lastMs - intervalMs, 0));
    lastMs = nowMs;
  }, intervalMs);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
    },
  };
}

/** Time for which this process's event loop was not idle so far, ms. */
export function eventLoopActiveMs(): number {
  return performance.eventLoopUtilization().active;
}
