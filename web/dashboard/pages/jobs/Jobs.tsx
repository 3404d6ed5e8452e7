import { Route, Switch } from 'wouter';
import { Job } from './Job.tsx';
import { JobList } from './JobList.tsx';

export default function Jobs() {
  return (
    <Switch>
      <Route path="/:job_id">{({ job_id }) => <Job key={job_id} job_id={job_id} />}</Route>
      <Route>
        <JobList />
      </Route>
    </Switch>
  );
}
