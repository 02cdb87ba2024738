import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { classArchive } from './class-archive.ts';
import { cacheFolder, KAFKA_VERSION, kafkaJars } from './jars.ts';

const START_DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 15_000;
/** Java writes its archive of classes before it ends. */
const ARCHIVED_DEADLINE_MS = 60_000;

export interface KafkaOptions {
  /** Three nodes are three processes, each broker and controller, so that leaders can move. */
  readonly nodes?: 1 | 3;
  /** Opens a SASL_SSL listener (mechanism PLAIN) beside the plain one. */
  readonly saslSsl?: boolean;
  /** Laid over server.properties. */
  readonly config?: Readonly<Record<string, string>>;
  /** Levels of features, such as `transaction.version`, that are not to be the newest ones. */
  readonly features?: Readonly<Record<string, number>>;
  /** `bench` lets Java compile fully and gives it a real heap; `test` starts faster; `shared` has much to do. */
  readonly purpose?: 'test' | 'shared' | 'bench';
}

interface SaslSslAccess {
  readonly bootstrapServers: string;
  readonly username: string;
  readonly password: string;
  /** PEM of the certificate to trust. */
  readonly ca: string;
}

export interface RunningKafka {
  readonly bootstrapServers: string;
  readonly saslSsl: SaslSslAccess | null;
  /** Log directory of a node. */
  dataDir(node: number): string;
  pid(node: number): number;
  /** kill -9. */
  kill(node: number): Promise<void>;
  /** Starts a killed node again on its data. */
  restart(node: number): Promise<void>;
  /** Ends all processes and removes their data. */
  close(): Promise<void>;
}

interface LaunchedKafka extends RunningKafka {
  /** Ends all nodes as an operator would. */
  stop(): Promise<void>;
}

interface Node {
  readonly id: number;
  readonly folder: string;
  readonly port: number;
  process: ChildProcess | null;
}

/** Tests need not wait for the six seconds that a session lasts at least, if nothing else is said. */
export const SHORT_SESSIONS = { 'group.min.session.timeout.ms': '1000' };

/** A dead node is given up, and its leaders move, after three seconds instead of nine. */
const MOVES_SOON = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' };

const USERNAME = 'millrace';
const PASSWORD = 'millrace-secret';

/** Asks the system for `count` different free ports. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            if (address === null || typeof address === 'string') reject(new Error('no port'));
            else resolve(address.port);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** The ports open before the controller has admitted the brokers, so ask for the cluster itself. */
async function waitForCluster(nodes: readonly Node[]): Promise<void> {
  const kafka = new Kafka({
    brokers: nodes.map((node) => `127.0.0.1:${node.port}`),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 100, retries: 20 },
  });
  const admin = kafka.admin();
  await admin.connect();
  try {
    const deadline = performance.now() + START_DEADLINE_MS;
    while ((await admin.describeCluster()).brokers.length < nodes.length) {
      if (performance.now() > deadline) throw new Error('Kafka nodes did not find each other');
      await sleep(100);
    }
  } finally {
    await admin.disconnect();
  }
}

/**
 * What `kafka-storage format` leaves in a log directory. Java takes seconds to write these two files, so
 * they are kept, and only the ids in them are those of this node.
 */
function format(
  dataDir: string,
  clusterId: string,
  nodeId: number,
  features: Readonly<Record<string, number>>,
): void {
  const levels = Object.entries(features).map(([name, level]) => `${name}=${level}`);
  const template = join(cacheFolder(), ['formatted', KAFKA_VERSION, ...levels].join('-'));
  if (!existsSync(template)) formatWithJava(template, levels);
  cpSync(template, dataDir, { recursive: true });
  const file = join(dataDir, 'meta.properties');
  const ids = { 'cluster.id': clusterId, 'node.id': nodeId, 'directory.id': newId() };
  let text = readFileSync(file, 'utf8');
  for (const [key, value] of Object.entries(ids)) {
    const line = new RegExp(`^${key.replace('.', '\\.')}=.*$`, 'm');
    if (!line.test(text)) throw new Error(`${file} has no ${key}`);
    text = text.replace(line, `${key}=${value}`);
  }
  writeFileSync(file, text);
}

/** The template appears at once or not at all: another process may be making the same. */
function formatWithJava(template: string, features: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-format-'));
  const properties = join(folder, 'server.properties');
  const data = join(folder, 'data');
  writeFileSync(
    properties,
    'process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\n' +
      'controller.listener.names=CONTROLLER\n' +
      `listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:1\nlog.dirs=${data}\n`,
  );
  execFileSync(
    'java',
    [
      '-XX:TieredStopAtLevel=1',
      '-cp',
      join(kafkaJars(), '*'),
      'kafka.tools.StorageTool',
      'format',
      '-t',
      newId(),
      '-c',
      properties,
      ...features.flatMap((feature) => ['--feature', feature]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], timeout: START_DEADLINE_MS },
  );
  const made = `${template}-${process.pid}`;
  cpSync(data, made, { recursive: true });
  try {
    renameSync(made, template);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(template)) throw error;
  }
  rmSync(folder, { recursive: true, force: true });
}

/** As Kafka writes ids. It must not begin with a dash, which the command line would take for an option. */
function newId(): string {
  return `M${randomBytes(16).toString('base64url').slice(1)}`;
}

/** What makes Java start sooner, at the expense of how fast it gets. */
const QUICK_START = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** Starts a real Kafka (KRaft) on loopback and waits until every node takes connections. */
export async function startKafka(options: KafkaOptions = {}): Promise<RunningKafka> {
  const { purpose } = options;
  if (purpose === 'bench') return launch(options, ['-Xmx2g']);
  const archive = await classArchive(async (java) => {
    const kafka = await launch({}, [...QUICK_START, ...java]);
    try {
      await kafka.stop();
    } finally {
      await kafka.close();
    }
  });
  const heap = purpose === 'shared' ? '-Xmx1g' : '-Xmx512m';
  return launch(options, [heap, ...QUICK_START, `-XX:SharedArchiveFile=${archive}`]);
}

async function launch(options: KafkaOptions, java: readonly string[]): Promise<LaunchedKafka> {
  const count = options.nodes ?? 1;
  // The archive of classes knows the jars by their path, which may lead through a link.
  const jars = realpathSync(kafkaJars());
  const root = mkdtempSync(join(tmpdir(), 'millrace-kafka-'));
  const ports = await freePorts(count * 3);
  const clusterId = newId();
  const voters = Array.from({ length: count }, (_, i) => `${i + 1}@127.0.0.1:${ports[count + i]}`);
  const tls = options.saslSsl === true ? makeCertificate(root) : null;
  const replication = String(Math.min(count, 3));

  const nodes: Node[] = [];
  for (let i = 0; i < count; i++) {
    const folder = join(root, `node-${i + 1}`);
    const plain = `PLAINTEXT://127.0.0.1:${ports[i]}`;
    const secure = tls === null ? '' : `,SASL_SSL://127.0.0.1:${ports[2 * count + i]}`;
    const properties: Record<string, string> = {
      'process.roles': 'broker,controller',
      'node.id': String(i + 1),
      'controller.quorum.voters': voters.join(','),
      listeners: `${plain},CONTROLLER://127.0.0.1:${ports[count + i]}${secure}`,
      'advertised.listeners': `${plain}${secure}`,
      'controller.listener.names': 'CONTROLLER',
      'inter.broker.listener.name': 'PLAINTEXT',
      'listener.security.protocol.map':
        'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL',
      'log.dirs': join(folder, 'data'),
      'offsets.topic.replication.factor': replication,
      'offsets.topic.num.partitions': '4',
      'transaction.state.log.replication.factor': replication,
      'transaction.state.log.min.isr': '1',
      'transaction.state.log.num.partitions': '4',
      'share.coordinator.state.topic.replication.factor': replication,
      'share.coordinator.state.topic.min.isr': '1',
      'group.initial.rebalance.delay.ms': '0',
      ...SHORT_SESSIONS,
      'log.cleaner.dedupe.buffer.size': '134217728',
      ...(count === 1 ? {} : MOVES_SOON),
      ...(tls === null
        ? {}
        : {
            'sasl.enabled.mechanisms': 'PLAIN',
            'ssl.keystore.location': tls.keystore,
            'ssl.keystore.password': tls.password,
            'ssl.key.password': tls.password,
            'ssl.keystore.type': 'PKCS12',
            'listener.name.sasl_ssl.plain.sasl.jaas.config':
              'org.apache.kafka.common.security.plain.PlainLoginModule required ' +
              `user_${USERNAME}="${PASSWORD}";`,
          }),
      ...options.config,
    };
    execFileSync('mkdir', ['-p', folder]);
    writeFileSync(
      join(folder, 'server.properties'),
      Object.entries(properties)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(''),
    );
    format(join(folder, 'data'), clusterId, i + 1, options.features ?? {});
    nodes.push({ id: i + 1, folder, port: ports[i] as number, process: null });
  }

  const start = async (node: Node): Promise<void> => {
    const log = createWriteStream(join(node.folder, 'server.log'), { flags: 'a' });
    const child = spawn(
      'java',
      [...java, '-cp', join(jars, '*'), 'kafka.Kafka', join(node.folder, 'server.properties')],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    child.once('exit', () => log.end());
    node.process = child;
    await waitForPort(node);
  };

  const end = async (
    node: Node,
    signal: 'SIGTERM' | 'SIGKILL',
    withinMs = STOP_DEADLINE_MS,
  ): Promise<void> => {
    const child = node.process;
    if (child === null) return;
    node.process = null;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    const forced = setTimeout(() => child.kill('SIGKILL'), withinMs);
    await exited;
    clearTimeout(forced);
  };

  const nodeOf = (id: number): Node => {
    const node = nodes[id - 1];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  };

  const emergency = (): void => {
    for (const node of nodes) node.process?.kill('SIGKILL');
  };
  process.once('exit', emergency);

  const close = async (): Promise<void> => {
    // The data is thrown away, so there is nothing that an orderly stop would save.
    await Promise.all(nodes.map((node) => end(node, 'SIGKILL')));
    process.removeListener('exit', emergency);
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  };

  try {
    await Promise.all(nodes.map(start));
    await waitForCluster(nodes);
  } catch (error) {
    await close();
    throw error;
  }

  return {
    bootstrapServers: nodes.map((node) => `127.0.0.1:${node.port}`).join(','),
    saslSsl:
      tls === null
        ? null
        : {
            bootstrapServers: nodes.map((_, i) => `127.0.0.1:${ports[2 * count + i]}`).join(','),
            username: USERNAME,
            password: PASSWORD,
            ca: tls.ca,
          },
    dataDir: (id) => join(nodeOf(id).folder, 'data'),
    pid: (id) => {
      const pid = nodeOf(id).process?.pid;
      if (pid === undefined) throw new Error(`node ${id} does not run`);
      return pid;
    },
    kill: (id) => end(nodeOf(id), 'SIGKILL'),
    restart: async (id) => {
      await start(nodeOf(id));
      await waitForCluster(nodes);
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => end(node, 'SIGTERM', ARCHIVED_DEADLINE_MS)));
    },
    close,
  };
}

async function waitForPort(node: Node): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  const log = join(node.folder, 'server.log');
  while (performance.now() < deadline) {
    const child = node.process;
    if (child === null || child.exitCode !== null) {
      throw new Error(`Kafka node ${node.id} ended while starting:\n${tail(log)}`);
    }
    if (await accepts(node.port)) return;
    await sleep(50);
  }
  throw new Error(
    `Kafka node ${node.id} did not start within ${START_DEADLINE_MS} ms:\n${tail(log)}`,
  );
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-4_000);
  } catch (error) {
    return `(no log yet: ${String(error)})`;
  }
}

function makeCertificate(folder: string): { keystore: string; password: string; ca: string } {
  const keystore = join(folder, 'server.p12');
  const password = 'changeit';
  const store = ['-alias', 'kafka', '-keystore', keystore, '-storepass', password];
  execFileSync(
    'keytool',
    [
      '-genkeypair',
      ...store,
      '-storetype',
      'PKCS12',
      '-keyalg',
      'RSA',
      '-validity',
      '3650',
      '-dname',
      'CN=localhost',
      '-ext',
      'SAN=DNS:localhost,IP:127.0.0.1',
    ],
    { stdio: 'ignore' },
  );
  const ca = execFileSync('keytool', ['-exportcert', '-rfc', ...store], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { keystore, password, ca };
}
