package interop;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;

/** The admin client. */
final class Administration implements AutoCloseable {
    private final Admin admin;

    Administration(Properties settings) {
        admin = Admin.create(settings);
    }

    Object call(String method, Request request) throws Exception {
        return switch (method) {
            case "createTopic" -> createTopic(request);
            case "deleteTopic" -> admin.deleteTopics(request.texts("topics")).all().get();
            case "listTopics" -> admin.listTopics().names().get().stream().sorted().toList();
            case "describeTopic" -> describeTopic(request.text("topic"));
            case "createPartitions" -> admin.createPartitions(
                Map.of(request.text("topic"), NewPartitions.increaseTo((int) request.number("count", 1)))).all().get();
            case "describeConfigs" -> describeConfigs(request);
            case "alterConfigs" -> alterConfigs(request);
            case "deleteRecords" -> deleteRecords(request);
            case "listOffsets" -> listOffsets(request);
            case "describeCluster" -> admin.describeCluster().nodes().get().stream()
                .map(node -> node.host() + ":" + node.port()).toList();
            default -> Groups.call(admin, method, request);
        };
    }

    private Object createTopic(Request request) throws Exception {
        NewTopic topic = new NewTopic(request.text("topic"), (int) request.number("partitions", 1), (short) 1)
            .configs(request.textsByName("configs"));
        var created = admin.createTopics(List.of(topic));
        created.all().get();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("partitions", created.numPartitions(topic.name()).get());
        answer.put("id", created.topicId(topic.name()).get().toString());
        answer.put("configs", ownConfigs(created.config(topic.name()).get()));
        return answer;
    }

    private Object describeTopic(String topic) throws Exception {
        TopicDescription description = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", description.topicId().toString());
        answer.put("leaders", description.partitions().stream().map(partition -> partition.leader().id()).toList());
        return answer;
    }

    private Object describeConfigs(Request request) throws Exception {
        ConfigResource resource = resourceOf(request);
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        Map<String, Object> shown = new TreeMap<>();
        for (String name : request.texts("keys")) {
            ConfigEntry entry = config.get(name);
            shown.put(name, entry == null ? null : List.of(entry.value(), entry.source().name()));
        }
        return shown;
    }

    private Object alterConfigs(Request request) throws Exception {
        List<AlterConfigOp> operations = new ArrayList<>();
        for (Request each : request.list("operations")) {
            operations.add(new AlterConfigOp(
                new ConfigEntry(each.text("key"), each.textOrNull("value")),
                AlterConfigOp.OpType.valueOf(each.text("operation").toUpperCase())));
        }
        return admin.incrementalAlterConfigs(Map.of(resourceOf(request), operations)).all().get();
    }

    private static ConfigResource resourceOf(Request request) {
        return request.has("topic")
            ? new ConfigResource(ConfigResource.Type.TOPIC, request.text("topic"))
            : new ConfigResource(ConfigResource.Type.BROKER, request.text("broker"));
    }

    private static Map<String, String> ownConfigs(Config config) {
        return config.entries().stream()
            .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
            .collect(Collectors.toMap(ConfigEntry::name, ConfigEntry::value, (one, other) -> one, TreeMap::new));
    }

    /** Low watermarks; a partition's failure stands in its place. */
    private Object deleteRecords(Request request) {
        Map<TopicPartition, RecordsToDelete> upTo = new HashMap<>();
        request.numbersByPartition("offsets").forEach((partition, offset) -> upTo.put(partition, RecordsToDelete.beforeOffset(offset)));
        Map<String, Object> answers = new TreeMap<>();
        admin.deleteRecords(upTo).lowWatermarks().forEach((partition, deleted) -> {
            try {
                answers.put(partition.toString(), deleted.get().lowWatermark());
            } catch (ExecutionException failed) {
                answers.put(partition.toString(), failed.getCause().getClass().getSimpleName());
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        });
        return answers;
    }

    private Object listOffsets(Request request) throws Exception {
        OffsetSpec spec = switch (request.text("of")) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "maxTimestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(request.number("timestamp", 0));
        };
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        for (TopicPartition partition : request.partitions("partitions")) asked.put(partition, spec);
        Map<String, Object> offsets = new TreeMap<>();
        admin.listOffsets(asked).all().get().forEach((partition, found) -> offsets.put(partition.toString(), found.offset()));
        return offsets;
    }

    @Override
    public void close() {
        admin.close(Clients.CLOSE_TIMEOUT);
    }
}
