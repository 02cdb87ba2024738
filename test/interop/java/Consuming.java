package interop;

import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.regex.Pattern;

/** One consumer on a thread of its own, which polls once the consumer has been told what to read. */
final class Consuming implements ConsumerRebalanceListener, AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final long IDLE_MS = 5;
    private static final long DEADLINE_MS = 20_000;

    private final KafkaConsumer<String, String> consumer;
    private final ConcurrentLinkedQueue<Runnable> calls = new ConcurrentLinkedQueue<>();
    private final List<Map<String, Object>> records = new ArrayList<>();
    private final List<String> rebalances = new ArrayList<>();
    private final Thread thread;
    /** It has been told what to read. */
    private boolean isReading;
    /** What the last poll has thrown. */
    private RuntimeException failure;
    private volatile boolean isOver;

    Consuming(Properties settings) {
        consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        thread = new Thread(this::run, "consumer");
        thread.start();
    }

    private void run() {
        while (!isOver) {
            for (Runnable call; (call = calls.poll()) != null; ) call.run();
            try {
                if (isReading) consumer.poll(POLL).forEach(record -> records.add(shown(record)));
                else Thread.sleep(IDLE_MS);
            } catch (RuntimeException thrown) {
                failure = thrown;
            } catch (InterruptedException interrupted) {
                isOver = true;
            }
        }
        consumer.close(CloseOptions.timeout(Clients.CLOSE_TIMEOUT));
    }

    Object call(String method, Request request) throws Exception {
        switch (method) {
            case "subscribe" -> onThread(it -> {
                if (request.has("pattern")) it.subscribe(Pattern.compile(request.text("pattern")), this);
                else it.subscribe(request.texts("topics"), this);
                isReading = true;
                return null;
            });
            case "assign" -> onThread(it -> {
                it.assign(request.partitions("partitions"));
                isReading = true;
                return null;
            });
            case "seek" -> onThread(it -> {
                request.numbersByPartition("offsets").forEach(it::seek);
                failure = null;
                return null;
            });
            case "assignAt" -> onThread(it -> {
                Map<TopicPartition, Long> offsets = request.numbersByPartition("offsets");
                it.assign(offsets.keySet());
                offsets.forEach(it::seek);
                isReading = true;
                return null;
            });
            case "commit" -> onThread(it -> {
                if (request.has("offsets")) it.commitSync(request.offsets("offsets"));
                else it.commitSync();
                return null;
            });
            case "committed" -> {
                return onThread(it -> byPartition(it.committed(new HashSet<>(request.partitions("partitions"))), OffsetAndMetadata::offset));
            }
            case "position" -> {
                return onThread(it -> {
                    Map<TopicPartition, Long> positions = new LinkedHashMap<>();
                    for (TopicPartition partition : it.assignment()) positions.put(partition, it.position(partition));
                    return byPartition(positions, position -> position);
                });
            }
            case "beginningOffsets" -> {
                return onThread(it -> byPartition(it.beginningOffsets(request.partitions("partitions")), offset -> offset));
            }
            case "endOffsets" -> {
                return onThread(it -> byPartition(it.endOffsets(request.partitions("partitions")), offset -> offset));
            }
            case "offsetsForTimes" -> {
                return onThread(it -> byPartition(it.offsetsForTimes(request.numbersByPartition("times")), OffsetAndTimestamp::offset));
            }
            case "assignment" -> {
                return onThread(it -> it.assignment().stream().map(TopicPartition::toString).sorted().toList());
            }
            case "rebalances" -> {
                return onThread(it -> List.copyOf(rebalances));
            }
            case "records" -> {
                return await((int) request.number("count", 0));
            }
            default -> throw new IllegalArgumentException("a consumer does not " + method);
        }
        return null;
    }

    ConsumerGroupMetadata groupMetadata() throws Exception {
        return onThread(KafkaConsumer::groupMetadata);
    }

    /** Takes what was read, when it is so many records at least; throws what the last poll has thrown. */
    private List<Map<String, Object>> await(int count) throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        while (true) {
            List<Map<String, Object>> taken = onThread(it -> {
                if (failure != null) throw failure;
                if (records.size() < count) return null;
                List<Map<String, Object>> all = List.copyOf(records);
                records.clear();
                return all;
            });
            if (taken != null) return taken;
            if (System.currentTimeMillis() > deadline) {
                throw new TimeoutException("only " + onThread(it -> records.size()) + " records of " + count);
            }
            Thread.sleep(IDLE_MS);
        }
    }

    /** A consumer is for one thread. */
    private <T> T onThread(Function<KafkaConsumer<String, String>, T> call) throws Exception {
        CompletableFuture<T> answer = new CompletableFuture<>();
        calls.add(() -> {
            try {
                answer.complete(call.apply(consumer));
            } catch (Exception thrown) {
                answer.completeExceptionally(thrown);
            }
        });
        return answer.get(DEADLINE_MS, TimeUnit.MILLISECONDS);
    }

    private static <T, R> Map<String, R> byPartition(Map<TopicPartition, T> values, Function<T, R> shown) {
        Map<String, R> result = new TreeMap<>();
        values.forEach((partition, value) -> result.put(partition.toString(), value == null ? null : shown.apply(value)));
        return result;
    }

    private static Map<String, Object> shown(ConsumerRecord<String, String> record) {
        List<List<String>> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<String> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8));
            headers.add(pair);
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("partition", record.partition());
        shown.put("offset", record.offset());
        shown.put("timestamp", record.timestamp());
        shown.put("timestampType", record.timestampType().toString());
        shown.put("key", record.key());
        shown.put("value", record.value());
        shown.put("headers", headers);
        return shown;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        rebalances.add("assigned " + names(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        rebalances.add("revoked " + names(partitions));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        rebalances.add("lost " + names(partitions));
    }

    private static List<String> names(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().toList();
    }

    @Override
    public void close() {
        isOver = true;
        try {
            thread.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
