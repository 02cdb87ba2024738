import {
  AlterConfigs,
  type AlterConfigsRequest,
  type AlterConfigsResponse,
} from '@millrace/protocol';
import { applyBrokerChanges } from '../broker-configs.ts';
import { applyConfigChanges, ConfigOperation } from '../topics/topic-config.ts';
import {
  answerResource,
  changeBroker,
  duplicateResources,
  refuseDuplicate,
  refuseResource,
  ResourceType,
  topicToChange,
} from './config-resources.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

/**
 * AlterConfigs, versions 0 to 2 (KIP-133): a topic's settings, or those of a broker that were set at run
 * time (KIP-226), are replaced by those given; what is left out goes back to its default. Durable before it is answered, in effect at once.
 */
export const alterConfigsHandler: Handler<AlterConfigsRequest, AlterConfigsResponse> = {
  api: AlterConfigs,
  minVersion: 0,
  maxVersion: 2,
  handle(
    request: AlterConfigsRequest,
    { broker }: RequestContext,
  ): HandlerResult<AlterConfigsResponse> {
    const duplicates = duplicateResources(request.resources);
    const answers = request.resources.map((resource) =>
      answerResource(resource, async () => {
        refuseDuplicate(duplicates, resource);
        const changes = resource.configs.map(({ name, value }) => ({
          name,
          value,
          configOperation: ConfigOperation.set,
        }));
        if (resource.resourceType === ResourceType.broker) {
          const replace = (): Map<string, string> => applyBrokerChanges(new Map(), changes);
          await changeBroker(resource.resourceName, request.validateOnly, broker, replace);
          return;
        }
        if (resource.resourceType !== ResourceType.topic) refuseResource(resource.resourceType);
        const topic = topicToChange(resource.resourceName, broker);
        const configs = applyConfigChanges(new Map(), changes, broker.configs.effective);
        broker.topics.logConfig(configs);
        if (!request.validateOnly) await broker.topics.alterConfigs(topic, () => configs);
      }),
    );
    return Promise.all(answers).then((responses) => ({ responses }));
  },
};
