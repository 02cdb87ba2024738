import {
  DescribeConfigs,
  errorCodes,
  type DescribeConfigsRequest,
  type DescribeConfigsResponse,
  type Encodable,
} from '@millrace/protocol';
import { describeBrokerConfig, describeClusterConfig } from '../broker-config-view.ts';
import { describeTopicConfig, type DescribedConfig } from '../topics/topic-config.ts';
import { TopicError } from '../topics/topic-error.ts';
import { checkBrokerResource, ResourceType, topicOfResource } from './config-resources.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type Result = Encodable<DescribeConfigsResponse['results'][number]>;
type Resource = DescribeConfigsRequest['resources'][number];

/**
 * DescribeConfigs, versions 1 to 4: topics and this broker, with sources and synonyms (KIP-226), kinds
 * and documentation (KIP-569). A broker's settings are read-only but for those of the cleaner.
 */
export const describeConfigsHandler: Handler<DescribeConfigsRequest, DescribeConfigsResponse> = {
  api: DescribeConfigs,
  minVersion: 1,
  maxVersion: 4,
  handle(
    request: DescribeConfigsRequest,
    context: RequestContext,
  ): HandlerResult<DescribeConfigsResponse> {
    // A question that is put a thousand times is answered once.
    const resources = new Map(
      request.resources.map((resource) => [
        [resource.resourceType, resource.resourceName, ...(resource.configurationKeys ?? [])].join(
          '\0',
        ),
        resource,
      ]),
    );
    const configsOf = configsOnce(context);
    return {
      results: [...resources.values()].map((resource) => describe(resource, request, configsOf)),
    };
  },
};

type ConfigsOf = (resource: Resource) => DescribedConfig[];

/** Different settings of the same thing may be asked for many times in one request. */
function configsOnce(context: RequestContext): ConfigsOf {
  const known = new Map<string, DescribedConfig[]>();
  return (resource) => {
    const key = `${resource.resourceType}:${resource.resourceName}`;
    const configs = known.get(key) ?? configsOf(resource, context);
    known.set(key, configs);
    return configs;
  };
}

function describe(
  resource: Resource,
  request: DescribeConfigsRequest,
  configsOf: ConfigsOf,
): Result {
  const { resourceType, resourceName } = resource;
  // Without names, all are asked for.
  const names = new Set(resource.configurationKeys);
  try {
    const configs = configsOf(resource)
      .filter(({ name }) => names.size === 0 || names.has(name))
      .map((config) => ({
        ...config,
        synonyms: request.includeSynonyms ? config.synonyms : [],
        documentation: request.includeDocumentation ? config.documentation : null,
      }));
    return { errorCode: errorCodes.NONE, errorMessage: null, resourceType, resourceName, configs };
  } catch (error) {
    if (!(error instanceof TopicError)) throw error;
    return {
      errorCode: error.errorCode,
      errorMessage: error.message,
      resourceType,
      resourceName,
      configs: [],
    };
  }
}

function configsOf(resource: Resource, { broker }: RequestContext): DescribedConfig[] {
  switch (resource.resourceType) {
    case ResourceType.topic: {
      const topic = topicOfResource(resource.resourceName, broker);
      return describeTopicConfig(topic.configs, broker.configs);
    }
    case ResourceType.broker:
      checkBrokerResource(resource.resourceName, broker, true);
      // The name of all nodes stands for what was set for the whole cluster at run time.
      return resource.resourceName === ''
        ? describeClusterConfig(broker.configs)
        : describeBrokerConfig(broker.configs);
    default:
      throw new TopicError(
        'INVALID_REQUEST',
        `Unsupported resource type: ${resource.resourceType}`,
      );
  }
}
