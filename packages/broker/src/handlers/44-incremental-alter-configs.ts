import {
  IncrementalAlterConfigs,
  type IncrementalAlterConfigsRequest,
  type IncrementalAlterConfigsResponse,
} from '@millrace/protocol';
import { applyConfigChanges } from '../topics/topic-config.ts';
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
 * IncrementalAlterConfigs, versions 0 and 1 (KIP-339): set, delete, and append or subtract on settings
 * that are lists (cleanup.policy). Durable before it is answered, in effect at once.
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
        if (resource.resourceType !== ResourceType.topic) refuseResource(resource.resourceType);
        const topic = topicToChange(resource.resourceName, broker);
        const change = (configs: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
          applyConfigChanges(configs, resource.configs, broker.givenConfig);
        if (request.validateOnly) broker.topics.logConfig(change(topic.configs));
        else await broker.topics.alterConfigs(topic, change);
      }),
    );
    return Promise.all(answers).then((responses) => ({ responses }));
  },
};
