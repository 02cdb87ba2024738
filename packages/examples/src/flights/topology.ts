import { StreamsBuilder, timeWindows, type Topology } from '@millrace/runtime';
import { addFlight, NO_FLIGHTS, toDelays } from './delays.ts';
import {
  airportSerde,
  DAY_MS,
  delaysSerde,
  delaySumsSerde,
  flightSerde,
  iataSerde,
  minutesSerde,
  stateDaySerde,
  stateSerde,
} from './serdes.ts';
import { AIRPORTS_TOPIC, DELAYS_TOPIC, FLIGHTS_TOPIC } from './topics.ts';

/**
 * How delayed are flights, per state and day?
 *
 *   flights ──┐
 *             ├─ join ─ selectKey(state) ─ [by-state] ─ aggregate per day ─ flight-delays
 *   airports ─┘
 *
 * Everything here only describes; nothing runs until a KafkaStreams is given the topology. It is
 * then split in two at the repartition topic [by-state], and each half into one task per partition,
 * shared out among all instances of the application that run.
 */
export function flightsTopology(): Topology {
  const builder = new StreamsBuilder();

  // A stream is every record of a topic, in order; a table is the latest record per key. The table is
  // kept in a store, partition by partition, on the instance that reads the same partitions of
  // flights: both topics are keyed by the airport's code and have as many partitions.
  const flights = builder.stream(FLIGHTS_TOPIC, { key: iataSerde, value: flightSerde });
  const airports = builder.table(AIRPORTS_TOPIC, {
    key: iataSerde,
    value: airportSerde,
    store: 'airports',
  });

  flights
    // Of the flight and the airport it leaves from, only what is needed further on. A task takes the
    // record with the lowest timestamp first, and airports are stamped before the first flight, so
    // they are all in the table when the first flight looks for its own.
    .join(airports, (flight, airport) => ({ state: airport.state, delay: flight.delay }))

    // From here on the key is the state. That moves nothing by itself ...
    .selectKey((_iata, { state }) => state, { key: stateSerde })
    .mapValues(({ delay }) => delay, { value: minutesSerde })

    // ... but grouping does: a state's flights leave from many airports, so are spread over many
    // partitions. They are written to the topic `<application.id>-by-state-repartition`, under their
    // new key, and read back; it is emptied as soon as what was read from it is committed.
    .groupByKey({ name: 'by-state' })

    // Days, in UTC, one after the other. A window takes late records until its grace is over, counted
    // in the time of the records, not of the clock. The partitions of flights are not read at the same
    // speed, so one state's flights of June may well be here before another airport's of January: the
    // grace is longer than the data's whole span, and no flight is ever too late.
    .windowedBy(timeWindows({ size: DAY_MS, grace: '366d' }))

    // One row per state and day in a store, which every change also writes to a changelog topic: an
    // instance that takes over a task, or starts with an empty state directory, restores it from there.
    .aggregate(
      () => NO_FLIGHTS,
      (_state, delay, sums) => addFlight(sums, delay),
      { store: 'delays-by-state-and-day', value: delaySumsSerde },
    )

    // The table's changes, each a new value for its state and day. Whoever reads the topic takes the
    // latest one per key.
    .toStream()
    .mapValues(toDelays, { value: delaysSerde })
    .to(DELAYS_TOPIC, { key: stateDaySerde });

  return builder.build();
}
