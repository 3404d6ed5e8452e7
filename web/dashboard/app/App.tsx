import { Center, Loader } from '@mantine/core';
import { Router } from 'wouter';
import { SessionGate } from '../service/session.tsx';
import { Shell } from './Shell.tsx';
import { SignIn } from './SignIn.tsx';

export function App() {
  return (
    <Router base="/dashboard">
      <SessionGate signIn={(expired) => <SignIn expired={expired} />} loading={<Loading />}>
        <Shell />
      </SessionGate>
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
