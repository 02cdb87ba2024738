/** A cleaner's worker thread; started by `worker-thread`, speaks `thread-messages` with it. */
import { parentPort, workerData } from 'node:worker_threads';
import { CleanerThreadError } from '../../errors.ts';
import { checkedDisk } from '../../log-dir/checked-disk.ts';
import { systemClock } from '../../platform/clock.ts';
import { nodeDisk } from '../../platform/node-disk.ts';
import { systemRandom } from '../../platform/random.ts';
import { cleanLog } from '../pass/clean-log.ts';
import { IoThrottle } from './io-throttle.ts';
import { AbortFlag, PassControl } from './pass-control.ts';
import { PassTools } from './pass-tools.ts';
import { toPassErrorMessage } from './thread-messages.ts';
import type { CleanerWorkerData, FromCleanerWorker, ToCleanerWorker } from './thread-messages.ts';

const port = parentPort;
if (port === null) throw new CleanerThreadError('cleaner-worker is not a program of its own');
const settings = workerData as CleanerWorkerData;
const throttle = new IoThrottle(settings.throttle);
const abortFlag = new AbortFlag(settings.abortFlag);
const tools = new PassTools({
  ...settings,
  disk: checkedDisk(nodeDisk),
  clock: systemClock,
  random: systemRandom,
});
let pass: ReturnType<typeof cleanLog> | null = null;

function send(message: FromCleanerWorker): void {
  port?.postMessage(message);
}

/** On to the next group, or the end. */
function step(): void {
  const result = pass?.next();
  if (result === undefined) return;
  if (result.done !== true) send({ type: 'group', group: result.value });
  else {
    pass = null;
    send({ type: 'done', report: result.value });
  }
}

port.on('message', (message: ToCleanerWorker) => {
  try {
    switch (message.type) {
      case 'clean': {
        const { task } = message;
        pass = cleanLog(task, tools.for(new PassControl(task.name, abortFlag, throttle)));
        step();
        break;
      }
      case 'swapped':
        step();
        break;
      case 'end':
        pass = null;
        send({ type: 'ended' });
        break;
    }
  } catch (error) {
    pass = null;
    send({ type: 'failed', error: toPassErrorMessage(error) });
  }
});
