export {
  MessagesRequest,
  ModelScript,
  ModelStep,
  type ResponsesFunction,
  ResponsesRequest,
  readScriptFile,
  type ScriptFunction,
} from './script';
export { type RecordedRequest, type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from './server';
export type { EmittedToolCall } from './wire';
