/**
 * What a connector outside this repository imports: the package `@chartwire/connector`. Whatever is removed or changed
 * here breaks connectors, so it needs a new `connector_api`.
 */
export { type Static, Type } from 'typebox';
export { Compile } from 'typebox/compile';
export type { FailureCode } from '../../catalog/failures.ts';
export type {
  Outbound,
  OutboundRequest,
  OutboundResponse,
} from '../../platform/security/outbound.ts';
export { OutboundFailure } from '../../platform/security/outbound.ts';
export type * from '../connector.ts';
export { noResponse, parseResponse, type ResponseKind, sendRequest, tooBusy } from '../emrCalls.ts';
export { EmrFailure, type EmrFailureKind, unsupportedField } from '../emrFailure.ts';
export { createGrantStore, type GrantStore } from '../grantStore.ts';
export {
  collect,
  type EmrWrite,
  type InputOf,
  type LeftRecord,
  type Listing,
  type ListName,
  type ListPage,
  type ListWindow,
  type OutputOf,
  type RowOf,
  type Saved,
  type SavedField,
  type Written,
} from '../operations/operation.ts';
export {
  type Capability,
  createOperations,
  type FieldOperation,
  type FieldsOf,
  type Implementation,
  listCapabilities,
  listRequiredFields,
  listUnsupportedFields,
  type OperationName,
  type Operations,
  type WriteName,
} from '../operations/operations.ts';
export { findsNobody, hasSearchedName, type PatientSearch } from '../operations/patients.ts';
