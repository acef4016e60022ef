export { ApiClient, ApiError } from './api/client';
