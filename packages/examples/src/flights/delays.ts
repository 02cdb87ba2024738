/** A flight is late when it left more than so many minutes after its schedule. */
export const LATE_MINUTES = 15;

/** What is kept per state and day while flights come in: sums, because sums can be added to. */
export interface DelaySums {
  readonly flights: number;
  /** Minutes, of all flights; what was early counts against what was late. */
  readonly delaySum: number;
  readonly lateFlights: number;
}

/** What comes out per state and day. */
export interface Delays extends DelaySums {
  /** Minutes. */
  readonly meanDelay: number;
  /** From 0 to 1. */
  readonly lateShare: number;
}

export const NO_FLIGHTS: DelaySums = { flights: 0, delaySum: 0, lateFlights: 0 };

export function addFlight(sums: DelaySums, delay: number): DelaySums {
  return {
    flights: sums.flights + 1,
    delaySum: sums.delaySum + delay,
    lateFlights: sums.lateFlights + (delay > LATE_MINUTES ? 1 : 0),
  };
}

export function addSums(left: DelaySums, right: DelaySums): DelaySums {
  return {
    flights: left.flights + right.flights,
    delaySum: left.delaySum + right.delaySum,
    lateFlights: left.lateFlights + right.lateFlights,
  };
}

export function toDelays(sums: DelaySums): Delays {
  const { flights, delaySum, lateFlights } = sums;
  return {
    flights,
    delaySum,
    lateFlights,
    meanDelay: delaySum / flights,
    lateShare: lateFlights / flights,
  };
}
