// `npm start`: the main example, on an embedded broker, to its end. Options after `--` go to it.
import { join } from 'node:path';
import { root, run, setup } from './setup.mjs';

setup();
process.exitCode = run(
  process.execPath,
  [join(root, 'packages', 'examples', 'dist', 'flights', 'main.js'), ...process.argv.slice(2)],
  { mayFail: true },
);
