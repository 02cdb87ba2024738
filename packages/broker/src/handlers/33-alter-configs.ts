import {
  AlterConfigs,
  type AlterConfigsRequest,
  type AlterConfigsResponse,
} from '@millrace/protocol';
import { applyConfigChanges, ConfigOperation } from '../topics/topic-config.ts';
import {
  answerResource,
  duplicateResources,
  refuseDuplicate,
  refuseResource,
  ResourceType,
  topicToChange,
} from './config-resources.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

/**
 * AlterConfigs, versions 0 to 2 (KIP-133): a topic's settings are replaced by those given; what is left
 * out goes back to its default. Durable before it is answered, in effect at once.
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
        if (resource.resourceType !== ResourceType.topic) refuseResource(resource.resourceType);
        const topic = topicToChange(resource.resourceName, broker);
        const changes = resource.configs.map(({ name, value }) => ({
          name,
          value,
          configOperation: ConfigOperation.set,
        }));
        const configs = applyConfigChanges(new Map(), changes, broker.givenConfig);
        broker.topics.logConfig(configs);
        if (!request.validateOnly) await broker.topics.alterConfigs(topic, () => configs);
      }),
    );
    return Promise.all(answers).then((responses) => ({ responses }));
  },
};
