import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from '../../catalog/settings/settingValues.ts';

/**
 * The configured sampler, except that queued work is recorded if the request that queued it was: a write is recorded from
 * the request to the webhook, or not at all.
 */
export function openSampler(name: SamplerName, ratio: number): Sampler {
  const configured = samplers[name](ratio);
  return {
    shouldSample: (context, trace_id, span_name, kind, attributes, links) => {
      const [origin] = links;
      if (!origin) return configured.shouldSample(context, trace_id, span_name, kind, attributes, links);
      const sampled = (origin.context.traceFlags & 1) !== 0;
      return { decision: sampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
    },
    toString: () => configured.toString(),
  };
}

const samplers: Record<SamplerName, (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};
