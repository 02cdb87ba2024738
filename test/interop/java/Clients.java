package interop;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/** All clients of this process, by the name that the test has given them. */
final class Clients implements AutoCloseable {
    static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final String bootstrapServers;
    private final Map<String, Producing> producers = new HashMap<>();
    private final Map<String, Consuming> consumers = new HashMap<>();
    private final Map<String, ConsumerGroupMetadata> memberships = new HashMap<>();
    private final Map<String, WordCount> wordCounts = new HashMap<>();
    private Administration administration;

    Clients(String bootstrapServers) {
        this.bootstrapServers = bootstrapServers;
    }

    Object call(String call, Request request) throws Exception {
        int dot = call.indexOf('.');
        String method = call.substring(dot + 1);
        switch (call.substring(0, dot)) {
            case "producer":
                return producer(method, request);
            case "consumer":
                return consumer(method, request);
            case "streams":
                return streams(method, request);
            case "admin":
                if (administration == null) administration = new Administration(settings(request));
                return administration.call(method, request);
            default:
                throw new IllegalArgumentException("nobody answers " + call);
        }
    }

    private Object producer(String method, Request request) throws Exception {
        String name = request.text("name");
        if (method.equals("open")) {
            producers.put(name, new Producing(settings(request)));
            return null;
        }
        if (method.equals("close")) {
            producers.remove(name).close();
            return null;
        }
        Producing producer = producers.get(name);
        if (!method.equals("sendOffsets")) return producer.call(method, request);
        producer.sendOffsets(request.offsets("offsets"), memberships.get(request.text("membership")));
        return null;
    }

    private Object consumer(String method, Request request) throws Exception {
        String name = request.text("name");
        if (method.equals("open")) {
            consumers.put(name, new Consuming(settings(request)));
            return null;
        }
        if (method.equals("group")) return membership(consumers.get(name).groupMetadata());
        if (!method.equals("close")) return consumers.get(name).call(method, request);
        consumers.remove(name).close();
        return null;
    }

    /** Kept, so that a test can use it when it is no longer true. */
    private Map<String, Object> membership(ConsumerGroupMetadata group) {
        String name = group.memberId() + " in generation " + group.generationId();
        memberships.put(name, group);
        return Map.of("membership", name, "memberId", group.memberId(), "generation", group.generationId());
    }

    private Object streams(String method, Request request) throws Exception {
        String name = request.text("name");
        if (method.equals("open")) {
            WordCount wordCount = new WordCount(settings(request), request);
            wordCounts.put(name, wordCount);
            wordCount.start();
            return null;
        }
        WordCount wordCount = wordCounts.get(name);
        if (!method.equals("close")) return wordCount.state();
        wordCounts.remove(name);
        return wordCount.close();
    }

    private Properties settings(Request request) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.putAll(request.textsByName("config"));
        return settings;
    }

    @Override
    public void close() {
        wordCounts.values().forEach(WordCount::close);
        producers.values().forEach(Producing::close);
        consumers.values().forEach(Consuming::close);
        if (administration != null) administration.close();
    }
}
