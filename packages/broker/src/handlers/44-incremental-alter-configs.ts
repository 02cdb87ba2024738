import {
  IncrementalAlterConfigs,
  type IncrementalAlterConfigsRequest,
  type IncrementalAlterConfigsResponse,
} from '@millrace/protocol';
import { applyBrokerChanges } from '../broker-configs.ts';
import { applyConfigChanges } from '../topics/topic-config.ts';
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
 * IncrementalAlterConfigs, versions 0 and 1 (KIP-339): set, delete, and append or subtract on settings
 * that are lists (cleanup.policy), of topics and of brokers (KIP-226). Durable before it is answered, in effect at once.
 */
export const incrementalAlterConfigsHandler: Handler<
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse
> = {
  api: IncrementalAlterConfigs,
  minVersion: 0,
  maxVersion: 1,
  handle(
    request: IncrementalAlterConfigsRequest,
    { broker }: RequestContext,
  ): HandlerResult<IncrementalAlterConfigsResponse> {
    const duplicates = duplicateResources(request.resources);
    const answers = request.resources.map((resource) =>
      answerResource(resource, async () => {
        refuseDuplicate(duplicates, resource);
        if (resource.resourceType === ResourceType.broker) {
          await changeBroker(resource.resourceName, request.validateOnly, broker, (entries) =>
            applyBrokerChanges(entries, resource.configs),
          );
          return;
        }
        if (resource.resourceType !== ResourceType.topic) refuseResource(resource.resourceType);
        const topic = topicToChange(resource.resourceName, broker);
        const change = (configs: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
          applyConfigChanges(configs, resource.configs, broker.configs.effective);
        if (request.validateOnly) broker.topics.logConfig(change(topic.configs));
        else await broker.topics.alterConfigs(topic, change);
      }),
    );
    return Promise.all(answers).then((responses) => ({ responses }));
  },
};
