import { Center, Loader } from '@mantine/core';
import { Route, Router, Switch } from 'wouter';
import { ConfirmIdentityProvider } from '../parts/forms/ConfirmIdentity.tsx';
import { Toasts } from '../parts/Toasts.tsx';
import { PatientRequestProvider } from '../service/patientRequest.tsx';
import { SessionGate } from '../service/session.tsx';
import { Confirmed } from './Confirmed.tsx';
import { Invitation } from './Invitation.tsx';
import { SetupGate } from './SetupGate.tsx';
import { Shell } from './Shell.tsx';
import { SignIn } from './SignIn.tsx';

export function App() {
  return (
    <Router base="/dashboard">
      <Switch>
        <Route path="/invitation">
          <Invitation />
        </Route>
        <Route path="/confirmed">
          <Confirmed />
        </Route>
        <Route>
          <SessionGate signIn={(expired) => <SignIn expired={expired} />} loading={<Loading />}>
            <ConfirmIdentityProvider>
              <SetupGate>
                <PatientRequestProvider>
                  <Shell />
                </PatientRequestProvider>
              </SetupGate>
            </ConfirmIdentityProvider>
            <Toasts />
          </SessionGate>
        </Route>
      </Switch>
    </Router>
  );
}

function Loading() {
  return (
    <Center h="100vh">
      <Loader aria-label="Loading" />
    </Center>
  );
}
