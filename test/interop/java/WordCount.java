package interop;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

import java.util.Arrays;
import java.util.Properties;

/** Counts words: a repartition topic, a store with its changelog, every change of a count sent on. */
final class WordCount {
    private static final String STORE = "counts";

    private final KafkaStreams streams;
    private volatile String failure;

    WordCount(Properties settings, Request request) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(request.text("input"))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.as("words"))
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(STORE).withCachingDisabled())
            .mapValues(String::valueOf)
            .toStream()
            .to(request.text("output"), Produced.with(Serdes.String(), Serdes.String()));
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        streams = new KafkaStreams(builder.build(settings), settings);
        streams.setUncaughtExceptionHandler(thrown -> {
            failure = String.valueOf(thrown);
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    }

    void start() {
        streams.start();
    }

    /** Its state, or what has ended it. */
    String state() {
        return failure == null ? streams.state().toString() : failure;
    }

    String close() {
        streams.close(Clients.CLOSE_TIMEOUT);
        return state();
    }
}
