package interop;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.common.TopicPartition;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the admin client does with transactions. */
final class Transactions {
    private Transactions() { }

    static Object call(Admin admin, String method, Request request) throws Exception {
        return switch (method) {
            case "listTransactions" -> admin.listTransactions().all().get().stream()
                .map(transaction -> transaction.transactionalId() + " " + transaction.state()).sorted().toList();
            case "describeTransaction" -> describeTransaction(admin, request.text("transactionalId"));
            case "activeProducers" -> admin.describeProducers(request.partitions("partitions")).all().get().values().stream()
                .mapToInt(partition -> partition.activeProducers().size()).sum();
            case "fenceProducers" -> admin.fenceProducers(request.texts("transactionalIds")).all().get();
            default -> throw new IllegalArgumentException("the admin client does not " + method);
        };
    }

    private static Object describeTransaction(Admin admin, String transactionalId) throws Exception {
        TransactionDescription description = admin.describeTransactions(List.of(transactionalId)).all().get().get(transactionalId);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("state", description.state().toString());
        answer.put("timeoutMs", description.transactionTimeoutMs());
        answer.put("partitions", description.topicPartitions().stream().map(TopicPartition::toString).sorted().toList());
        return answer;
    }
}
