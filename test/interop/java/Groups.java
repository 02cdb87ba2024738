package interop;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.common.TopicPartition;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What the admin client does with groups. */
final class Groups {
    private Groups() { }

    static Object call(Admin admin, String method, Request request) throws Exception {
        return switch (method) {
            case "listGroups" -> admin.listGroups().all().get().stream()
                .map(group -> group.groupId() + " " + group.protocol() + " " + group.groupState().map(Object::toString).orElse("?"))
                .sorted().toList();
            case "describeGroup" -> describe(admin, request.text("group"));
            case "groupOffsets" -> offsets(admin, request.text("group"));
            case "alterGroupOffsets" -> admin.alterConsumerGroupOffsets(request.text("group"), request.offsets("offsets")).all().get();
            case "deleteGroupOffsets" -> admin.deleteConsumerGroupOffsets(
                request.text("group"), new HashSet<>(request.partitions("partitions"))).all().get();
            case "removeMember" -> admin.removeMembersFromConsumerGroup(request.text("group"),
                new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove(request.text("instanceId"))))).all().get();
            case "removeMembers" -> admin.removeMembersFromConsumerGroup(
                request.text("group"), new RemoveMembersFromConsumerGroupOptions()).all().get();
            case "deleteGroup" -> admin.deleteConsumerGroups(List.of(request.text("group"))).all().get();
            default -> Transactions.call(admin, method, request);
        };
    }

    private static Object describe(Admin admin, String group) throws Exception {
        ConsumerGroupDescription description = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        Map<String, Object> members = new TreeMap<>();
        description.members().forEach(member -> members.put(
            member.clientId(),
            member.assignment().topicPartitions().stream().map(TopicPartition::toString).sorted().toList()));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("state", description.groupState().toString());
        answer.put("assignor", description.partitionAssignor());
        answer.put("members", members);
        return answer;
    }

    private static Object offsets(Admin admin, String group) throws Exception {
        Map<String, Object> offsets = new TreeMap<>();
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((partition, offset) ->
            offsets.put(partition.toString(), List.of(offset.offset(), offset.metadata())));
        return offsets;
    }
}
