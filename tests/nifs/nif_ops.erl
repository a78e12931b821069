%% The functions of the library nif_ops.c.
-module(nif_ops).
-export([load/1, run/2, enabled/3, trace/5, count/0]).
-nifs([run/2, enabled/3, trace/5, count/0]).

load(File) -> erlang:load_nif(File, 0).

%% Does operations, and gives what they have told, the latest first.
run(_Operations, _Terms) -> erlang:nif_error(not_loaded).

%% As a tracer with the state {Pid, Operations, Terms}: does them, and sends what they have told.
enabled(_Tag, _State, _Tracee) -> erlang:nif_error(not_loaded).
trace(_Tag, _State, _Tracee, _Term, _Options) -> erlang:nif_error(not_loaded).

%% How many objects there are.
count() -> erlang:nif_error(not_loaded).
