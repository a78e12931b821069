%% Stand-in for Common Test's ct_event: nobody listens.
-module(ct_event).
-export([notify/1, sync_notify/1]).

notify(_) -> ok.
sync_notify(_) -> ok.
