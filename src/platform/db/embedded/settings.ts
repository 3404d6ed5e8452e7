export const superuser = 'chartwire';
export const port = 5432;

/** Settings passed on the command line; the cluster's configuration files stay as initdb wrote them. */
export const server_settings: Record<string, string> = {
  // Only a unix socket, in a folder that only the server's user can enter.
  listen_addresses: '',
  port: String(port),
  unix_socket_permissions: '0700',
  max_connections: '200',
  shared_buffers: '128MB',
  fsync: 'on',
  // Statistics of a table that has just been filled arrive after this time instead of a minute. Without them some pages
  // of the dashboard take seconds.
  autovacuum_naptime: '15s',
  cluster_name: 'chartwire',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // No health data in the log. Messages of level ERROR quote values ("invalid input syntax for type date: …"), so
  // that only LOG, FATAL and PANIC are written, without the statement, its parameters or details.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
};
