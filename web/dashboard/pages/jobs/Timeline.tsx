import { Anchor, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Icon } from '../../parts/Icon.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { Job } from '../../service/types.ts';
import { duration } from './labels.ts';
import { type TimelineLine, toTimeline } from './stepLabels.ts';

/** What happened to a job, with the time since it was accepted. */
export function Timeline({ job }: { job: Job }) {
  const lines = toTimeline(job.steps, job.emr, job.finished_at !== null);
  if (lines.length === 0) return <Text size="sm">Not started yet. The job is in the queue.</Text>;
  const accepted_ms = Date.parse(job.created_at);
  return (
    <ol className="timeline" aria-label="Timeline">
      <li>
        <span className="timeline-icon">
          <Icon name="clock" size={14} color="var(--mantine-color-dimmed)" />
        </span>
        <Text size="sm" className="timeline-text">
          Accepted
        </Text>
        <div className="secondary offset">
          <Timestamp at={job.created_at} show="exact" />
        </div>
      </li>
      {lines.map((line) => (
        <Line key={line.key} line={line} accepted_ms={accepted_ms} />
      ))}
    </ol>
  );
}

function Line({ line, accepted_ms }: { line: TimelineLine; accepted_ms: number }) {
  const [opened, { toggle }] = useDisclosure(false);
  const { repeats } = line;
  return (
    <>
      <li>
        <span className="timeline-icon">
          <Icon name={line.icon} size={14} color={line.color} />
        </span>
        <div className="timeline-text">
          <Text size="sm">{line.text}</Text>
          {line.duration && <div className="secondary">Took {line.duration}</div>}
          {repeats && (
            <Anchor component="button" type="button" size="sm" aria-expanded={opened} onClick={toggle}>
              {opened ? 'Hide the attempts' : 'Show the attempts'}
            </Anchor>
          )}
        </div>
        <div className="secondary offset">
          +{duration(Date.parse(line.at) - accepted_ms)}
          <div>
            <Timestamp at={line.at} show="exact" />
          </div>
        </div>
      </li>
      {opened && repeats?.map((each) => <Line key={each.key} line={each} accepted_ms={accepted_ms} />)}
    </>
  );
}
